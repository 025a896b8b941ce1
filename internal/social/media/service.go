package media

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"retwis/internal/files"
	"retwis/internal/picture"
	"retwis/internal/redis/reply"
	"retwis/internal/social"
	"retwis/internal/social/storage"

	"retwis/internal/social/timeline"
	"retwis/internal/social/work"
)

// DefaultQuota is the default limit for the total size of a user's pictures, in bytes.
const DefaultQuota = 1 << 30

// QuotaError reports that a user's quota has no room for another picture.
type QuotaError struct {
	Left int64 // in bytes
}

// Error returns a text with the number of bytes left.
func (e *QuotaError) Error() string {
	return fmt.Sprintf("social: pictures: only %d bytes are left", e.Left)
}

// Maker creates the sizes of a picture. place is the origin of the request, such as a client
// address.
type Maker interface {
	Make(ctx context.Context, place string, file []byte, kind picture.Kind) (picture.Picture, error)
}

// Options configure a Service. All are required.
type Options struct {
	timeline.Parts
	Store *Store
	Maker Maker
	Tasks *work.Engine
	Quota int64 // bytes per user
	// Changed is called when the avatar of a user has changed.
	Changed func(ctx context.Context, uid int64) error
}

// Service accepts and serves pictures. It is safe for concurrent use.
type Service struct {
	Options
	Counts Counts
}

// portraitKind is the kind of tasks that make the pictures of a user agree with the fields of the
// user: "portrait:<uid>".
const portraitKind = "portrait"

// New returns the Service of an application.
func New(opt Options) *Service {
	s := &Service{Options: opt}
	s.Tasks.Handle(portraitKind, s.portraitTask)
	return s
}

// Sweep deletes pictures that have been unused for a day.
func (s *Service) Sweep(ctx context.Context) error {
	n, err := s.Store.Sweep(ctx)
	if n > 0 {
		s.Store.Log.InfoContext(ctx, "deleted unused pictures", "pictures", n)
	}
	return err
}

// IsOn reports whether pictures can be uploaded.
func (s *Service) IsOn() bool { return s.Store.Files != nil }

// renditions maps each kind to the kind of package picture that determines its sizes.
var renditions = map[Kind]picture.Kind{Post: picture.Post, Avatar: picture.Avatar, Header: picture.Header}

// Upload stores a picture, which is unused at first. place is the origin of the request, such as a
// client address. The error is *QuotaError, an error of package picture or files, or ErrNoPlace.
func (s *Service) Upload(ctx context.Context, owner social.User, place string, file []byte, kind Kind) (r Record, err error) {
	defer func() { s.Counts.uploaded(r, err) }()
	if !s.IsOn() {
		return Record{}, ErrNoPlace
	}
	used, err := s.Store.used(ctx, owner.ID)
	if err != nil {
		return Record{}, err
	}
	if used >= s.Quota {
		return Record{}, &QuotaError{}
	}
	made, err := s.Maker.Make(ctx, place, file, renditions[kind])
	if err != nil {
		return Record{}, err
	}
	r = Record{ID: newID(), Owner: owner.ID, Kind: kind, Created: s.Store.Now().Unix()}
	r.Picture = social.Picture{ID: r.ID, Blurhash: made.Blurhash}
	for _, rendition := range made.Renditions {
		r.Picture.Files = append(r.Picture.Files, social.PictureFile{Name: rendition.Name + "." + rendition.Ext(), Width: rendition.Width, Height: rendition.Height})
		r.Bytes += int64(len(rendition.Data))
	}
	if used+r.Bytes > s.Quota {
		return Record{}, &QuotaError{Left: s.Quota - used}
	}
	if err := s.Store.create(ctx, r, made.Renditions); err != nil {
		return Record{}, err
	}
	// The user may have uploaded other pictures concurrently.
	if used, err = s.Store.used(ctx, owner.ID); err == nil && used > s.Quota {
		return Record{}, errors.Join(&QuotaError{Left: max(0, s.Quota-used+r.Bytes)}, s.Store.delete(ctx, r.Picture))
	}
	return r, err
}

// newID returns a picture ID that cannot be guessed.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// removeTimeout limits the attempt to remove the files of a picture that was not stored. Orphans
// finds the files that remain.
const removeTimeout = 5 * time.Second

// create writes the files of a picture, and then its record.
func (s *Store) create(ctx context.Context, r Record, made []picture.Rendition) error {
	err := s.write(ctx, r, made)
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		if err := s.delete(ctx, r.Picture); err != nil {
			s.Log.WarnContext(ctx, "cannot remove all files of a picture that was not stored", "picture", r.ID, "error", err)
		}
	}
	return err
}

func (s *Store) write(ctx context.Context, r Record, made []picture.Rendition) error {
	for i, name := range fileNames(&r.Picture) {
		if err := s.Files.Put(ctx, name, made[i].Data); err != nil {
			return err
		}
	}
	store, err := s.records.Open(ctx)
	if err == nil {
		_, err = store.Create(ctx, r)
	}
	return failed(err)
}

// SetPortrait makes an uploaded picture the avatar or the header of its owner. An empty id removes
// and deletes the current picture. A replaced picture remains visible for Replaced, because cached
// pages of other processes refer to it. SetPortrait returns ErrNotFound if the picture does not
// exist or was uploaded for another purpose. After a crash, a task finishes the change.
func (s *Service) SetPortrait(ctx context.Context, user social.User, kind Kind, id string) error {
	value := ""
	if id != "" {
		r, err := s.Store.Get(ctx, id)
		if err != nil {
			return err
		}
		if r.Owner != user.ID || r.Kind != kind {
			return social.ErrNotFound
		}
		value = r.Picture.Avatar()
	}
	err := s.Tasks.Do(ctx, portraitKind+":"+storage.Itoa(user.ID), func(ctx context.Context) error {
		return s.Users.Edit(ctx, user.ID, string(kind), value)
	}, nil)
	if err == nil && kind == Avatar {
		s.Users.ForgetLatest()
		err = s.Changed(ctx, user.ID)
	}
	return err
}

// portraitTask updates the records of a user's avatars and headers: those that the fields of the
// user name are in use, and the others are replaced or deleted.
func (s *Service) portraitTask(ctx context.Context, argument string) error {
	uid, ok := storage.ParseID(argument)
	if !ok {
		return nil
	}
	fields, err := reply.Fields(s.Store.DB.Client.Do(ctx, s.Store.DB.Client.B().Hmget().Key(storage.UserKey(uid)).Field(string(Avatar), string(Header)).Build()))
	if err != nil {
		return failed(err)
	}
	named := map[Kind]string{Avatar: social.AvatarID(fields[0]), Header: social.AvatarID(fields[1])}
	for r, err := range s.Store.Of(ctx, uid) {
		if storage.IsDamaged(err) {
			continue // a check reports the record
		}
		if err != nil {
			return err
		}
		if r.Kind == Post || named[r.Kind] != r.ID && r.Use == "" {
			continue
		}
		if _, err := s.Store.Resolve(ctx, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// Found is a picture that the viewer may see.
type Found struct {
	Record
	Public bool // a visitor without a session may see the picture, too
}

// Find returns a picture, or ErrNotFound if the viewer must not see the post or the user of the
// picture. An unused picture is visible only to its owner. No round trip if all data is in memory.
func (s *Service) Find(ctx context.Context, v *social.Viewer, id string) (Found, error) {
	r, err := s.Store.Get(ctx, id)
	if err != nil {
		return Found{}, err
	}
	isVisible, err := s.audience(ctx, r)
	if err != nil {
		return Found{}, err
	}
	visitor, err := s.Viewers.Get(ctx, social.User{})
	switch {
	case err != nil:
		return Found{}, err
	case isVisible(visitor):
		return Found{Record: r, Public: true}, nil
	case v.User.ID != 0 && isVisible(v):
		return Found{Record: r}, nil
	}
	return Found{}, social.ErrNotFound
}

// audience returns a function that reports whether a viewer may see a picture.
func (s *Service) audience(ctx context.Context, r Record) (func(v *social.Viewer) bool, error) {
	switch post := r.Post(); {
	case post != 0:
		found, err := s.Views.Get(ctx, post)
		if err != nil {
			return nil, err
		}
		p := found[0]
		if p == nil || p.Author.ID != r.Owner || !p.Media.Has(r.ID) {
			break
		}
		return func(v *social.Viewer) bool { return social.Visible(v.Asking(p.Author.ID), p.Post) != social.Hidden }, nil
	case r.Use == string(r.Kind), r.isReplaced() && s.Store.Now().Sub(time.Unix(r.Created, 0)) < Replaced:
		return func(v *social.Viewer) bool { return v.Asking(r.Owner).Sees(r.Owner) != social.Hidden }, nil
	}
	return func(v *social.Viewer) bool { return v.User.ID == r.Owner && !r.isUsed() }, nil
}

// Open opens a file of a picture by its size, such as 400. It returns ErrNotFound for other sizes.
func (s *Service) Open(ctx context.Context, r Record, size string) (*files.File, error) {
	if !s.IsOn() {
		return nil, social.ErrNotFound
	}
	for _, f := range r.Picture.Files {
		if f.Size() != size {
			continue
		}
		file, err := s.Store.Files.Open(ctx, r.Picture.Stored(f))
		if errors.Is(err, files.ErrNotFound) {
			s.Store.Log.WarnContext(ctx, "the file of a picture is missing", "file", r.Picture.Stored(f))
			err = social.ErrNotFound
		}
		return file, err
	}
	return nil, social.ErrNotFound
}
