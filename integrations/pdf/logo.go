package pdf

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"image"
	"sync"

	"github.com/johnfercher/maroto/v2/pkg/consts/extension"
)

// The box on the page that a logo is fitted into, in millimetres, and the resolutions
// it is stored and at the least printed with.
const (
	logoWidth, logoHeight = 56.0, 17.0
	logoDPI, logoLeastDPI = 300.0, 96.0
)

// logo is a company's logo, ready to be drawn.
type logo struct {
	data []byte         // an opaque image
	kind extension.Type // its format
	w, h float64        // its size on the page, in millimetres
}

// newLogo prepares an image of any supported format.
func newLogo(raw []byte) (*logo, error) {
	flat := raw
	img, ok := readyMade(raw)
	if !ok {
		var err error
		if flat, err = flatten(raw); err != nil {
			return nil, err
		}
		if img, ok = readyMade(flat); !ok {
			return nil, errNotAnImage
		}
	}
	if visible, _ := survey(img); visible.Empty() {
		return nil, errEmptyImage
	}
	l := &logo{data: flat, kind: extension.Png}
	if isJPEG(flat) {
		l.kind = extension.Jpg
	}
	l.w, l.h = logoSize(img.Bounds())
	return l, nil
}

// logoSize fits an image into the logo's box, and prints one of few pixels smaller
// rather than coarse.
func logoSize(bounds image.Rectangle) (w, h float64) {
	w, h = float64(bounds.Dx()), float64(bounds.Dy())
	scale := min(logoWidth/w, logoHeight/h, 25.4/logoLeastDPI)
	return w * scale, h * scale
}

// logoStore keeps prepared logos by their contents, so that each is flattened once.
// One that can't be used is kept too, as nil.
type logoStore struct {
	mu    sync.Mutex
	byKey map[[sha256.Size]byte]*list.Element
	order *list.List // of *storedLogo, the last used first
}

type storedLogo struct {
	key  [sha256.Size]byte
	once func() *logo
}

// storedLogos is how many logos a store keeps: a site has one, seldom two.
const storedLogos = 8

func newLogoStore() *logoStore {
	return &logoStore{byKey: map[[sha256.Size]byte]*list.Element{}, order: list.New()}
}

// get returns the logo made of raw, or nil where there is none or it can't be used.
func (s *logoStore) get(raw []byte) *logo {
	if len(raw) == 0 {
		return nil
	}
	return s.entry(raw).once()
}

func (s *logoStore) entry(raw []byte) *storedLogo {
	key := sha256.Sum256(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.byKey[key]; ok {
		s.order.MoveToFront(e)
		return e.Value.(*storedLogo)
	}
	raw = bytes.Clone(raw)
	stored := &storedLogo{key: key, once: sync.OnceValue(func() *logo {
		l, err := newLogo(raw)
		if err != nil {
			return nil
		}
		return l
	})}
	s.byKey[key] = s.order.PushFront(stored)
	if s.order.Len() > storedLogos {
		oldest := s.order.Remove(s.order.Back()).(*storedLogo)
		delete(s.byKey, oldest.key)
	}
	return stored
}
