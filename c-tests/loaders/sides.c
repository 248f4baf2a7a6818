/* Loads the two parts of side.c, runs both, ends both: one MPI after the other, both at once. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    (void)argc;
    int (*run[2])(const char *), (*end[2])(void);
    for (int i = 0; i < 2; i++) {
        void *side = dlopen(argv[1 + 2 * i], RTLD_NOW | RTLD_LOCAL);
        if (!side) return fprintf(stderr, "%s\n", dlerror()), 9;
        *(void **)&run[i] = dlsym(side, "run_side");
        *(void **)&end[i] = dlsym(side, "end_side");
        printf("%s runs: %d\n", argv[2 + 2 * i], run[i](argv[2 + 2 * i]));
        fflush(stdout);
    }
    for (int i = 1; i >= 0; i--) printf("%s ends: %d\n", argv[2 + 2 * i], end[i]());
    return 0;
}
