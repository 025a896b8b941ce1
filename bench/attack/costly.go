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

	"retwis/bench/measure"
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
	bot, visitor := s.visitor(stranger), s.visitor(owner)
	var c *counts
	worst, err := slowest(func() {
		c = flood(ctx, func(i int) (int, error) {
			status, _, err := bot.Do(ctx, http.MethodGet, "/search?q="+url.QueryEscape(fmt.Sprintf("the -coffee -word%d", i)), nil)
			return status, err
		})
	}, func() (int, error) {
		status, _, err := visitor.Do(ctx, http.MethodGet, "/search?q=coffee", nil)
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
func upload(ctx context.Context, v *measure.Visitor, file []byte) (int, error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "picture.png")
	if err == nil {
		_, err = part.Write(file)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return 0, err
	}
	status, _, err := v.Send(ctx, http.MethodPost, "/media", w.FormDataContentType(), &form)
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
		func() { c = flood(ctx, func(int) (int, error) { return upload(ctx, bot, large) }) },
		func() (int, error) { return upload(ctx, ada, small) },
	)
	resident, err2 := s.resident()
	stored, limited, busy := c.by[http.StatusOK], c.by[http.StatusTooManyRequests], c.by[http.StatusServiceUnavailable]
	return result{
		fmt.Sprintf("%d stored, %d refused; the slowest upload of others in %d ms; the site takes %.0f MB", stored, limited+busy, worst.Milliseconds(), resident),
		stored > 0 && stored <= 32 && limited+busy > 0 && worst <= 2*time.Second && resident < mostMemory,
	}, errors.Join(err, err2, c.er)
}
