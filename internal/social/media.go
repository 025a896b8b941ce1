package social

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

const (
	// MaxPictures is the maximum number of pictures in a post.
	MaxPictures = 4
	// MaxAlt is the maximum length of a picture description, in characters.
	MaxAlt = 1500
)

// maxMedia limits the field `media` of a post, in bytes. It has room for the longest descriptions
// with every byte escaped as two, and for the other fields of each picture.
const maxMedia = MaxPictures * (2*MaxAlt*BytesPerCharacter + 2<<10)

// Media is the field `media` of a post: the pictures with everything that a page needs to show
// them. It is empty for a post without pictures.
type Media string

// Picture is an uploaded picture, in several sizes.
type Picture struct {
	ID       string        `json:"id"` // 32 hexadecimal digits
	Alt      string        `json:"alt,omitempty"`
	Blurhash string        `json:"blurhash,omitempty"`
	FocusX   float64       `json:"x,omitempty"` // the focal point, from -1 (left) to 1
	FocusY   float64       `json:"y,omitempty"` // from -1 (bottom) to 1
	Files    []PictureFile `json:"files"`       // largest first
}

// PictureFile is one size of a picture.
type PictureFile struct {
	Name   string `json:"name"` // 400.jpg
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

// FormatMedia encodes pictures as the field of a post.
func FormatMedia(pictures []Picture) Media {
	if len(pictures) == 0 {
		return ""
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // escaping writes one character as six
	_ = encoder.Encode(pictures) // cannot fail for strings and finite numbers
	return Media(bytes.TrimSpace(text.Bytes()))
}

// Pictures decodes the pictures. It returns none if another program has damaged the field.
func (m Media) Pictures() []Picture {
	var all []Picture
	if m == "" || len(m) > maxMedia || json.Unmarshal([]byte(m), &all) != nil {
		return nil
	}
	all = slices.DeleteFunc(all, func(p Picture) bool { return !p.valid() })
	return all[:min(len(all), MaxPictures)]
}

// Has reports whether the picture is in m.
func (m Media) Has(id string) bool {
	return m != "" && strings.Contains(string(m), id) &&
		slices.ContainsFunc(m.Pictures(), func(p Picture) bool { return p.ID == id })
}

func (p *Picture) valid() bool {
	return IsPictureID(p.ID) && len(p.Files) > 0 && !slices.ContainsFunc(p.Files, func(f PictureFile) bool { return !f.valid() })
}

func (f PictureFile) valid() bool {
	size, ext, ok := strings.Cut(f.Name, ".")
	return ok && f.Width > 0 && f.Height > 0 && size != "" && len(f.Name) <= 16 &&
		strings.Trim(size, "0123456789") == "" && (ext == "jpg" || ext == "png" || ext == "gif")
}

// Size returns the size in the file name, such as 400.
func (f PictureFile) Size() string {
	size, _, _ := strings.Cut(f.Name, ".")
	return size
}

// IsPictureID reports whether text has the form of a picture ID.
func IsPictureID(text string) bool {
	return len(text) == 32 && strings.Trim(text, "0123456789abcdef") == ""
}

// Large returns the largest file.
func (p *Picture) Large() PictureFile { return p.Files[0] }

// Small returns the smallest file.
func (p *Picture) Small() PictureFile { return p.Files[len(p.Files)-1] }

// Stored returns the name under which a file of the picture is stored.
func (p *Picture) Stored(f PictureFile) string { return p.ID + "-" + f.Name }

// Avatar returns the value of a user's avatar field: the picture ID and the name of its smallest
// file. An empty field means no avatar.
func (p *Picture) Avatar() string { return p.ID + "/" + p.Small().Name }

// AvatarID returns the picture ID in a user's avatar field, or empty if it has none.
func AvatarID(field string) string {
	id, name, _ := strings.Cut(field, "/")
	if !IsPictureID(id) || !(PictureFile{Name: name, Width: 1, Height: 1}).valid() {
		return ""
	}
	return id
}
