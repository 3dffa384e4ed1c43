CREATE TABLE orders (id text PRIMARY KEY, customer text, euros int);
CREATE TABLE refunds (key text PRIMARY KEY, "order" text);
CREATE TABLE tickets (key text PRIMARY KEY, customer text, subject text);
INSERT INTO orders VALUES ('A-17', 'C-1', 80), ('A-18', 'C-1', 15), ('B-5', 'C-2', 20);
