// Package buildcache keeps compiled programs on disk, so that a second run
// does not compile again.
//
// A cache is never the reason for a failure: with a folder that cannot be
// made, read or written, or that belongs to somebody else, every Get is a
// miss and every Put is nothing. Entries carry a checksum and appear by a
// rename, so several processes may use one folder at once, and a torn or
// damaged entry is a miss that the next Put replaces. The folder is bounded:
// what was not used for longest goes first.
package buildcache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"
)

// DefaultLimit bounds the files of one cache folder, in bytes.
const DefaultLimit = 512 << 20

// DirVariable is the environment variable that names tandem's cache folder in
// place of the one in the user's cache directory. Set to the empty string it
// turns caching on disk off.
const DirVariable = "TANDEM_CACHE_DIR"

// Dir is the folder for tandem's caches: what DirVariable says, otherwise
// "tandem" in os.UserCacheDir. "" means that there is none and nothing is
// kept. The folder need not exist.
func Dir() string {
	if dir, set := os.LookupEnv(DirVariable); set {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "tandem")
}

// Key identifies an entry by everything that its contents depend on.
type Key [sha256.Size]byte

// MakeKey hashes parts: source, options, device name, driver version and what
// else the result depends on. Their order and borders count.
func MakeKey(parts ...string) Key {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return Key(h.Sum(nil))
}

// Entry is a compiled program.
type Entry struct {
	Binary []byte
	Log    string // what the compiler said; shown again when the entry is used
	Meta   []byte // what the driver wants to keep beside it
}

// A Cache is a folder of entries. Its methods may be called from any
// goroutine and at the same time from other processes.
type Cache struct {
	dir   string
	limit int64
}

// Open makes a cache in the folder dir, which is created with access for its
// owner alone when the first entry is put. An empty dir is a cache that keeps
// nothing. A limit of 0 is DefaultLimit.
func Open(dir string, limit int64) *Cache {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Cache{dir: dir, limit: limit}
}

// The layout of an entry's file: magic, checksum of all that follows, key,
// and three fields, each with its length before it.
const (
	magic  = "tandem build 1\n"
	suffix = ".build"
)

func (c *Cache) path(k Key) string { return filepath.Join(c.dir, hex.EncodeToString(k[:])+suffix) }

// Get finds the entry of k and marks it as used. A missing, damaged or
// unreadable one is false.
func (c *Cache) Get(k Key) (Entry, bool) {
	if c.dir == "" || !trusted(c.dir) {
		return Entry{}, false
	}
	path := c.path(k)
	file, err := os.ReadFile(path)
	if err != nil {
		return Entry{}, false
	}
	e, ok := decode(file, k)
	if ok {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // a read-only cache just does not know what was used
	}
	return e, ok
}

// Put stores e under k in place of what was there, and then removes the
// entries that were not used for longest until the folder is within its
// limit. It reports whether the entry was stored.
func (c *Cache) Put(k Key, e Entry) bool {
	file := encode(k, e)
	if c.dir == "" || int64(len(file)) > c.limit {
		return false
	}
	if os.MkdirAll(c.dir, 0o700) != nil || !trusted(c.dir) {
		return false
	}
	if !replace(c.dir, c.path(k), file) {
		return false
	}
	c.trim()
	return true
}

// replace writes a file under another name and renames it, so that a reader
// sees the old or the new one. There is no sync to the disk: after a power
// cut the checksum finds what is missing.
func replace(dir, path string, contents []byte) bool {
	f, err := os.CreateTemp(dir, "new-*.tmp")
	if err != nil {
		return false
	}
	_, err = f.Write(contents)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return false
	}
	return true
}

// abandonedAfter is how old a temporary file is before it counts as left over
// from a process that was killed.
const abandonedAfter = time.Hour

// trim brings the folder within its limit. Another process may do the same:
// a file that is gone already is no trouble.
func (c *Cache) trim() {
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []os.FileInfo
	var total int64
	for _, entry := range list {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		switch {
		case strings.HasSuffix(info.Name(), suffix):
			files = append(files, info)
			total += info.Size()
		case strings.HasSuffix(info.Name(), ".tmp") && time.Since(info.ModTime()) > abandonedAfter:
			_ = os.Remove(filepath.Join(c.dir, info.Name()))
		}
	}
	if total <= c.limit {
		return
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= c.limit {
			return
		}
		_ = os.Remove(filepath.Join(c.dir, f.Name()))
		total -= f.Size()
	}
}

func encode(k Key, e Entry) []byte {
	fields := [][]byte{e.Binary, []byte(e.Log), e.Meta}
	body := slices.Clone(k[:])
	for _, f := range fields {
		body = binary.LittleEndian.AppendUint64(body, uint64(len(f)))
		body = append(body, f...)
	}
	sum := xxh3.Hash128(body).Bytes()
	return slices.Concat([]byte(magic), sum[:], body)
}

func decode(file []byte, k Key) (Entry, bool) {
	rest, ok := strings.CutPrefix(string(file), magic)
	if !ok || len(rest) < 16+len(k) {
		return Entry{}, false
	}
	sum, body := rest[:16], rest[16:]
	if got := xxh3.HashString128(body).Bytes(); string(got[:]) != sum || body[:len(k)] != string(k[:]) {
		return Entry{}, false
	}
	body = body[len(k):]
	var fields [3]string
	for i := range fields {
		if len(body) < 8 {
			return Entry{}, false
		}
		n := binary.LittleEndian.Uint64([]byte(body[:8]))
		body = body[8:]
		if n > uint64(len(body)) {
			return Entry{}, false
		}
		fields[i], body = body[:n], body[n:]
	}
	e := Entry{Binary: []byte(fields[0]), Log: fields[1]}
	if fields[2] != "" {
		e.Meta = []byte(fields[2])
	}
	return e, body == ""
}
