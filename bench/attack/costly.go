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

// searches floods the search page with different queries, so that no result is cached.
func searches(ctx context.Context, s *site) (result, error) {
	bot, visitor := s.visitor(stranger), s.visitor(owner)
	var count map[int]int
	var failed error
	seen := during(func() {
		count, failed = flood(func(i int) (int, error) {
			return get(ctx, bot, "/search?q="+url.QueryEscape(fmt.Sprintf("the -coffee -word%d", i)))()
		})
	}, 250*time.Millisecond, get(ctx, visitor, "/search?q=coffee"))
	found, refused := count[http.StatusOK], count[http.StatusTooManyRequests]
	return result{
		fmt.Sprintf("%d searches, %d refused; slowest other search %d ms", found, refused, seen.slowest.Milliseconds()),
		found > 0 && found <= 310 && refused > 0 && len(count) == 2 && seen.good == seen.requests && seen.slowest <= time.Second,
	}, failed
}

// blank returns a PNG file of a single color. The file is small even if it has many pixels.
func blank(width, height int) ([]byte, error) {
	var file bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err := encoder.Encode(&file, image.NewGray(image.Rect(0, 0, width, height)))
	return file.Bytes(), err
}

// upload sends a picture as the script of the page does.
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
	a, err := v.Send(ctx, http.MethodPost, "/media", w.FormDataContentType(), &form)
	return a.Status, err
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
	var count map[int]int
	var failed error
	seen := during(
		func() { count, failed = flood(func(int) (int, error) { return upload(ctx, bot, large) }) },
		250*time.Millisecond, func() (int, error) { return upload(ctx, ada, small) },
	)
	memory, err := s.residentMB()
	stored, limited, busy := count[http.StatusOK], count[http.StatusTooManyRequests], count[http.StatusServiceUnavailable]
	return result{
		fmt.Sprintf("%d stored, %d refused; slowest other upload %d ms; %.0f MB", stored, limited+busy, seen.slowest.Milliseconds(), memory),
		stored > 0 && stored <= 32 && limited+busy > 0 && seen.good == seen.requests && seen.slowest <= 2*time.Second && memory < maxMemoryMB,
	}, errors.Join(err, failed)
}
