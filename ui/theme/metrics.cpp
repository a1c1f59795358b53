#include "ui/theme/metrics.h"
