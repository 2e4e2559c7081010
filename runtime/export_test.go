package tandem

// Buffers is the number of buffers that the session holds.
func Buffers(s *Session) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.buffers)
}
