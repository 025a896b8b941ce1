package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/url"
	"time"
)

// slowest does what others do on the site while an attack lasts, and returns how long that took
// at the worst.
func slowest(attack func(), others func() (status int, err error)) (worst time.Duration, err error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		attack()
	}()
	for {
		select {
		case <-ended:
			return worst, err
		case <-time.After(250 * time.Millisecond):
		}
		began := time.Now()
		status, failed := others()
		if failed == nil && status != http.StatusOK {
			failed = fmt.Errorf("others get status %d", status)
		}
		worst, err = max(worst, time.Since(began)), errors.Join(err, failed)
	}
}

// searches sends other words each time, so that no answer is one of before.
func searches(ctx context.Context, s *site) (result, error) {
	bot, visitor := s.client(stranger), s.client(owner)
	var c *counts
	worst, err := slowest(func() {
		c = flood(ctx, func(i int) (int, error) {
			status, _, err := bot.do(ctx, http.MethodGet, "/search?q="+url.QueryEscape(fmt.Sprintf("the -coffee -word%d", i)), nil)
			return status, err
		})
	}, func() (int, error) {
		status, _, err := visitor.do(ctx, http.MethodGet, "/search?q=coffee", nil)
		return status, err
	})
	found, refused := c.by[http.StatusOK], c.by[http.StatusTooManyRequests]
	return result{
		fmt.Sprintf("%d searches, %d refused with 429; the slowest search of others in %d ms", found, refused, worst.Milliseconds()),
		found > 0 && found <= 310 && refused > 0 && len(c.by) == 2 && worst <= time.Second,
	}, errors.Join(err, c.er)
}

// blank is a picture of one colour: however many pixels it has, the file is small.
func blank(width, height int) ([]byte, error) {
	var file bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err := encoder.Encode(&file, image.NewGray(image.Rect(0, 0, width, height)))
	return file.Bytes(), err
}

// upload sends a picture, as the script of the composer does.
func (c *client) upload(ctx context.Context, file []byte) (int, error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "picture.png")
	if err == nil {
		_, err = part.Write(file)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return 0, err
	}
	status, _, err := c.send(ctx, http.MethodPost, "/media", w.FormDataContentType(), &form)
	return status, err
}

func uploads(ctx context.Context, s *site) (result, error) {
	bot, err := s.member(ctx, "bot", stranger)
	if err != nil {
		return result{}, err
	}
	ada, err := s.member(ctx, "ada", owner)
	if err != nil {
		return result{}, err
	}
	large, err := blank(6500, 6000)
	small, err2 := blank(800, 600)
	if err = errors.Join(err, err2); err != nil {
		return result{}, err
	}
	var c *counts
	worst, err := slowest(
		func() { c = flood(ctx, func(int) (int, error) { return bot.upload(ctx, large) }) },
		func() (int, error) { return ada.upload(ctx, small) },
	)
	resident, err2 := s.metric("process_resident_memory_bytes")
	stored, limited, busy := c.by[http.StatusOK], c.by[http.StatusTooManyRequests], c.by[http.StatusServiceUnavailable]
	return result{
		fmt.Sprintf("%d stored, %d refused; the slowest upload of others in %d ms; the site takes %.0f MB", stored, limited+busy, worst.Milliseconds(), resident/1e6),
		stored > 0 && stored <= 32 && limited+busy > 0 && worst <= 2*time.Second && resident < 500e6,
	}, errors.Join(err, err2, c.er)
}
