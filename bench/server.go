package main

import (
	"context"
	"regexp"
	"strconv"

	"github.com/redis/rueidis"
)

var usedCPU = regexp.MustCompile(`used_cpu_(?:sys|user):([0-9.]+)`)

// serverSeconds returns how long a server has computed since it started, reading and
// writing its sockets included. Unlike time on the clock, the difference of two hardly
// depends on what else the machine does.
func serverSeconds(ctx context.Context, client rueidis.Client) (float64, error) {
	info, err := client.Do(ctx, client.B().Info().Section("cpu").Build()).ToString()
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, found := range usedCPU.FindAllStringSubmatch(info, -1) {
		seconds, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			return 0, err
		}
		sum += seconds
	}
	return sum, nil
}
