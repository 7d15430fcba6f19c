import { Counter, type Registry } from 'prom-client';
import type { ServerLog } from './logger.ts';

export function addLogMetrics(registry: Registry, log: ServerLog): void {
  new Counter({
    name: 'postern_log_dropped_lines_total',
    help: 'Log lines dropped because standard output was not read fast enough.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(log.droppedLines());
    },
  });
}
