import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { onBug } from '../lib/bug-report.ts';

/** Logs and counts contained exceptions. Returns a function that stops it. */
export function followBugs(logger: Logger, registry: Registry): () => void {
  const bugs = new Counter({
    name: 'postern_bugs_total',
    help: 'Unexpected exceptions. Each one failed a request or closed a connection, and is in the log.',
    registers: [registry],
  });
  return onBug(({ error, facts }) => {
    bugs.inc();
    logger.error({ ...facts, err: error }, 'a bug was contained: please report it');
  });
}
