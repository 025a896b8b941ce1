package storage

import (
	_ "embed"

	"retwis/internal/redis/script"
)

// The scripts are idempotent, so a script can be sent again if its reply was lost.
var (
	//go:embed directory_reserve.lua
	directoryReserveSource string
	directoryReserveScript = script.New(directoryReserveSource).Retryable()

	//go:embed directory_copy.lua
	directoryCopySource string
	directoryCopyScript = script.New(directoryCopySource).Retryable()

	//go:embed directory_trim.lua
	directoryTrimSource string
	directoryTrimScript = script.New(directoryTrimSource).Retryable()
)
