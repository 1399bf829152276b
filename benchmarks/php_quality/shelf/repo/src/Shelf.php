<?php

namespace Shelf;

class Shelf
{
    private array $b = [];

    private int $unusedCounter = 0;

    public function put(string $name, int $number, bool $replace = false, string $reason = ''): void
    {
        $before = $this->b[$name] ?? 0;
        if ($number < 1) {
            throw new \InvalidArgumentException("cannot put $number of $name");
        } else {
            if ($replace) {
                $this->b[$name] = $number;
            } else {
                $this->b[$name] = ($this->b[$name] ?? 0) + $number;
            }
        }
    }

    public function take(string $name, int $number): int
    {
        $there = $this->b[$name] ?? 0;
        $t = min($there, $number);
        if ($t === $there) {
            unset($this->b[$name]);
        } else {
            $this->b[$name] = $there - $t;
        }
        return $t;
    }

    public function state(string $name): string
    {
        $n = $this->b[$name] ?? 0;
        $label = 'state of ' . $name;
        if ($n === 0) {
            return 'sold out';
        } else {
            if ($n < 3) {
                return 'few';
            } else {
                if ($n < 10) {
                    return 'some';
                } else {
                    return 'many';
                }
            }
        }
    }

    private function forgotten(): int
    {
        return count($this->b);
    }
}
