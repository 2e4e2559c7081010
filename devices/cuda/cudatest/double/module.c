#include "double.h"
void drop_modules(context *c) {(void)c;}
CUresult run_launch(const launch *l, context *c, char *said, size_t size){(void)l;(void)c;(void)said;(void)size;return 801;}
CUresult pack_params(function *f, void **params, void **extra, unsigned char **out, size_t *n){return 801;}
CUresult check_launch(context *c, function *f, const unsigned grid[3], const unsigned block[3], unsigned shared, bool cooperative){return 801;}
