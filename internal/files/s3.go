package files

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// s3Timeout limits each call, unless the caller's deadline is earlier.
	s3Timeout = 15 * time.Second
	// s3Tries is the maximum number of attempts per call.
	s3Tries = 3
	// insufficientStorage is an HTTP status.
	insufficientStorage = 507
)

// s3 is a Store in a bucket.
type s3 struct {
	client *minio.Client
	bucket string
	prefix string // empty, or ends in a slash
	place  string
}

func openS3(place string, getenv func(string) string) (Store, error) {
	u, err := url.Parse(place)
	if err != nil { // the text of err would contain the secret
		return nil, errors.New("files: the address of the S3 server cannot be read: write it like s3://host/bucket")
	}
	bucket, prefix, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if u.Scheme != "s3" || u.Host == "" || bucket == "" {
		return nil, fmt.Errorf("files: %s names no server and bucket: write it like s3://host/bucket", u.Redacted())
	}
	opt := &minio.Options{
		Secure: true, Region: cmp.Or(getenv("AWS_REGION"), "us-east-1"), MaxRetries: s3Tries,
		// Otherwise the bucket becomes part of the host name, which few servers besides Amazon's
		// support.
		BucketLookup: minio.BucketLookupAuto,
	}
	for name, values := range u.Query() {
		switch value := values[0]; {
		case name == "region" && value != "":
			opt.Region = value
		case name == "tls" && (value == "on" || value == "off"):
			opt.Secure = value == "on"
		default:
			return nil, fmt.Errorf("files: %s: unknown parameter %s=%s: use region=NAME, tls=on or tls=off", u.Redacted(), name, value)
		}
	}
	key, secret, token := getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SESSION_TOKEN")
	if u.User != nil {
		key, token = u.User.Username(), ""
		secret, _ = u.User.Password()
	}
	opt.Creds = credentials.NewStaticV4(key, secret, token)
	client, err := minio.New(u.Host, opt)
	if err != nil {
		return nil, fmt.Errorf("files: %s: %w", u.Redacted(), err)
	}
	s := &s3{client: client, bucket: bucket, prefix: prefix}
	if s.prefix != "" {
		s.prefix += "/"
	}
	s.place = "s3://" + u.Host + "/" + strings.TrimSuffix(bucket+"/"+s.prefix, "/")
	return s, nil
}

func (s *s3) String() string { return s.place }

// deadline returns a context for one call.
func deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s3Timeout)
}

// wrapError translates an error into one of this package's errors.
func (s *s3) wrapError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	switch reply := minio.ToErrorResponse(err); {
	case reply.Code == minio.NoSuchKey:
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case reply.Code == "XMinioStorageFull", reply.Code == "QuotaExceeded", reply.StatusCode == insufficientStorage:
		return fmt.Errorf("%w: %s: %w", ErrFull, s, err)
	}
	return wrapError(ctx, s, err)
}

// Put implements Store. The server stores either the complete object or nothing.
func (s *s3) Put(ctx context.Context, name string, data []byte) error {
	if err := checkName(name); err != nil {
		return err
	}
	ctx, cancel := deadline(ctx)
	defer cancel()
	_, err := s.client.PutObject(ctx, s.bucket, s.prefix+name, bytes.NewReader(data), int64(len(data)),
		minio.PutObjectOptions{ContentType: typeOf(name), DisableMultipart: true})
	return s.wrapError(ctx, err)
}

// Open implements Store.
func (s *s3) Open(ctx context.Context, name string) (*File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s3Timeout, func() { cancel(context.DeadlineExceeded) })
	object, err := s.client.GetObject(ctx, s.bucket, s.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		timer.Stop()
		err = s.wrapError(ctx, err)
		cancel(nil)
		return nil, err
	}
	opened := &openObject{object, timer, cancel}
	info, err := object.Stat() // sends a request to the server
	timer.Stop()
	if err != nil {
		err = s.wrapError(ctx, err)
		opened.Close()
		return nil, err
	}
	return &File{opened, Info{name, info.Size, info.LastModified}}, nil
}

// openObject is an object in which each read is a separate call with its own deadline, so that the
// timeout applies to the server and not to the caller.
type openObject struct {
	io.ReadSeekCloser
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

func (o *openObject) Read(p []byte) (int, error) {
	o.timer.Reset(s3Timeout)
	defer o.timer.Stop()
	return o.ReadSeekCloser.Read(p)
}

func (o *openObject) Close() error {
	defer o.cancel(nil)
	o.timer.Stop()
	return o.ReadSeekCloser.Close()
}

// Delete implements Store.
func (s *s3) Delete(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := checkName(name); err != nil {
			return err
		}
		if err := s.delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *s3) delete(ctx context.Context, name string) error {
	ctx, cancel := deadline(ctx)
	defer cancel()
	err := s.wrapError(ctx, s.client.RemoveObject(ctx, s.bucket, s.prefix+name, minio.RemoveObjectOptions{}))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// List implements Store. The timeout applies to the server and not to the caller.
func (s *s3) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(s3Timeout, func() { cancel(context.DeadlineExceeded) })
		defer timer.Stop()
		for object := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix}) {
			name := strings.TrimPrefix(object.Key, s.prefix)
			switch {
			case object.Err != nil:
				yield(Info{}, s.wrapError(ctx, object.Err))
				return
			case checkName(name) != nil:
				continue
			}
			timer.Stop()
			if !yield(Info{name, object.Size, object.LastModified}, nil) {
				return
			}
			timer.Reset(s3Timeout)
		}
		if err := ctx.Err(); err != nil {
			yield(Info{}, wrapError(ctx, s, err))
		}
	}
}
