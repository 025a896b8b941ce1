package social

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

const (
	// MaxPictures is how many pictures a post has at most.
	MaxPictures = 4
	// MaxAlt is the length of the text that describes a picture, in characters.
	MaxAlt = 1500
)

// maxMedia bounds the field `media` of a post, in bytes. It has room for the longest descriptions, of
// which each byte can be written as two, and for what else there is of a picture.
const maxMedia = MaxPictures * (2*MaxAlt*BytesPerCharacter + 2<<10)

// Media are the pictures of a post as its field `media` has them: all that a page needs to show
// them. Empty: none.
type Media string

// Picture is a picture that somebody has uploaded, in several sizes.
type Picture struct {
	ID       string        `json:"id"` // 32 hexadecimal digits
	Alt      string        `json:"alt,omitempty"`
	Blurhash string        `json:"blurhash,omitempty"`
	FocusX   float64       `json:"x,omitempty"` // what matters most, from -1 (left) to 1
	FocusY   float64       `json:"y,omitempty"` // from -1 (bottom) to 1
	Files    []PictureFile `json:"files"`       // the largest first
}

// PictureFile is a picture in one size.
type PictureFile struct {
	Name   string `json:"name"` // 400.jpg
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

// FormatMedia returns pictures as the field of a post.
func FormatMedia(pictures []Picture) Media {
	if len(pictures) == 0 {
		return ""
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false) // which writes a character as six
	_ = to.Encode(pictures) // of texts and finite numbers: it cannot fail
	return Media(bytes.TrimSpace(text.Bytes()))
}

// Pictures returns the pictures; none of a field that another program has damaged.
func (m Media) Pictures() []Picture {
	var all []Picture
	if m == "" || len(m) > maxMedia || json.Unmarshal([]byte(m), &all) != nil {
		return nil
	}
	all = slices.DeleteFunc(all, func(p Picture) bool { return !p.valid() })
	return all[:min(len(all), MaxPictures)]
}

// Has reports whether a picture is among them.
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

// Size is the part of the name of a file that says how large it is.
func (f PictureFile) Size() string {
	size, _, _ := strings.Cut(f.Name, ".")
	return size
}

// IsPictureID reports whether a text has the form of the id of a picture.
func IsPictureID(text string) bool {
	return len(text) == 32 && strings.Trim(text, "0123456789abcdef") == ""
}

// Large is the largest file.
func (p *Picture) Large() PictureFile { return p.Files[0] }

// Small is the smallest file.
func (p *Picture) Small() PictureFile { return p.Files[len(p.Files)-1] }

// Stored is the name under which a file of the picture is stored.
func (p *Picture) Stored(f PictureFile) string { return p.ID + "-" + f.Name }

// Avatar is the field of a user that names a picture: its id, and the name of its smallest
// file. Empty: none.
func (p *Picture) Avatar() string { return p.ID + "/" + p.Small().Name }

// AvatarID is the id of the picture that a field of a user names; empty for none.
func AvatarID(field string) string {
	id, name, _ := strings.Cut(field, "/")
	if !IsPictureID(id) || !(PictureFile{Name: name, Width: 1, Height: 1}).valid() {
		return ""
	}
	return id
}
