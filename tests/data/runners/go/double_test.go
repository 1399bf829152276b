package double

import "testing"

func TestDouble(t *testing.T) {
	for name, n := range map[string]int{"turns": 2, "stays at zero": 0} {
		t.Run(name, func(t *testing.T) {
			if Double(n) != 2*n {
				t.Errorf("%d doubled is %d", n, Double(n))
			}
		})
	}
}
