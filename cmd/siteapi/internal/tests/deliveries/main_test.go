package deliveries

import (
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

func TestMain(m *testing.M) { apptest.Main(m) }
