#include "app/services/paths.h"
