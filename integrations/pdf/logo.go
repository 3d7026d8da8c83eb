package pdf

type logo struct {
	png  []byte
	w, h float64
}
type logoStore struct{}

func newLogoStore() *logoStore { return &logoStore{} }

func (s *logoStore) get(raw []byte) *logo { return nil }
