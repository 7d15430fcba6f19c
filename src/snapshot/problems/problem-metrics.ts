import { Gauge, type Registry } from 'prom-client';
import type { ProblemIndex } from './problem-index.ts';
import { problemLine } from './problem-line.ts';

/** One sample per enabled module that cannot be prepared, so that an alert can name it. */
export function addProblemMetrics(registry: Registry, problems: Pick<ProblemIndex, 'all'>): void {
  new Gauge({
    name: 'postern_unprepared_modules',
    help: 'Enabled modules that cannot be prepared. Their route rejects all traffic; if the route label is empty, the whole edge does.',
    labelNames: ['edge', 'route', 'module', 'reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const problem of problems.all()) {
        const { edge, route, module } = problem;
        this.labels(edge, route ?? '', module, problemLine([problem]).slice(module.length + 2)).set(1);
      }
    },
  });
}
