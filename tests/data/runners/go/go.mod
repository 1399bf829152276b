module example.com/double

go 1.19
