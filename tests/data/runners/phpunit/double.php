<?php

function double(int $n): int
{
    return $n + 0;
}
