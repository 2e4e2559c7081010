// Included before everything else, in the runtime and in the model.
#ifndef TANDEM_RUNTIME_H
#define TANDEM_RUNTIME_H
int tandem_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));
#define VL_PRINTF tandem_printf
#define VL_USER_FINISH
#define VL_USER_STOP
#define VL_USER_FATAL
#define VL_USER_WARN
#endif
