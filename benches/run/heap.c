/* Counts the live bytes of a process's heap into a mapped file, HEAP_FILE: what memory it holds,
   whatever its allocator has not given back. For LD_PRELOAD with glibc. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static long before; /* until the file is mapped */
static long *live = &before;

static void *more(void *p) {
  if (p) __atomic_add_fetch(live, (long)malloc_usable_size(p), __ATOMIC_RELAXED);
  return p;
}

static void less(void *p) {
  if (p) __atomic_sub_fetch(live, (long)malloc_usable_size(p), __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void map(void) {
  const char *name = getenv("HEAP_FILE");
  int file = name ? open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (file < 0 || ftruncate(file, sizeof(long))) return;
  long *shared = mmap(NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (shared == MAP_FAILED) return;
  *shared = before;
  live = shared;
}

void *malloc(size_t n) { return more(__libc_malloc(n)); }
void *calloc(size_t n, size_t m) { return more(__libc_calloc(n, m)); }
void free(void *p) { less(p); __libc_free(p); }
void *memalign(size_t a, size_t n) { return more(__libc_memalign(a, n)); }
void *aligned_alloc(size_t a, size_t n) { return more(__libc_memalign(a, n)); }

void *realloc(void *p, size_t n) {
  less(p);
  void *q = __libc_realloc(p, n);
  more(q ? q : n ? p : NULL);
  return q;
}

int posix_memalign(void **p, size_t a, size_t n) {
  void *q = __libc_memalign(a, n);
  if (!q) return ENOMEM;
  *p = more(q);
  return 0;
}
