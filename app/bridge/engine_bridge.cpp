#include "app/bridge/engine_bridge.h"
