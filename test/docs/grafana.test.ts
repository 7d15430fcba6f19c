import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { readFrozenNames } from '../architecture/frozen-names-file.ts';
import { TestWorld } from '../support/test-world.ts';
import { projectRoot } from './markdown.ts';

interface Target {
  readonly expr: string;
  readonly legendFormat: string;
}
interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
}
interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: { query: string } | string }[];
  };
}

const dashboard = JSON.parse(readFileSync(join(projectRoot, 'docs/grafana/postern.json'), 'utf8')) as Dashboard;
const targets = dashboard.panels.flatMap(({ title, targets: all = [] }) => all.map((each) => ({ title, ...each })));
/** Prometheus adds them. */
const ADDED_LABELS = ['instance', 'job'];
const NAME = /\b(?:postern|process|nodejs)_[a-z0-9_]+\b/g;

const world = await TestWorld.open({ after });
const labelsOf = new Map<string, readonly string[]>();
for (const line of readFrozenNames()) {
  const [, name = '', type, labels = ''] = /^metric: (\w+), (\w+), labels \[(.*)\]$/.exec(line) ?? [];
  if (name === '') continue;
  const own = labels === '' ? [] : labels.split(', ');
  if (type !== 'histogram') labelsOf.set(name, own);
  for (const part of type === 'histogram' ? ['bucket', 'sum', 'count'] : [])
    labelsOf.set(`${name}_${part}`, part === 'bucket' ? [...own, 'le'] : own);
}
for (const [, name = ''] of (await world.api('GET', '/metrics')).text.matchAll(/^# TYPE ((?:process|nodejs)_\w+)/gm))
  labelsOf.set(name, []);

suite('the Grafana dashboard', () => {
  test('uses metrics that exist, with labels that they have', () => {
    assert.ok(targets.length > 40);
    for (const { title, expr, legendFormat } of targets) {
      const names = expr.match(NAME) ?? [];
      assert.ok(names.length > 0, title);
      const known = new Set(ADDED_LABELS);
      for (const name of names) {
        for (const label of labelsOf.get(name) ?? assert.fail(`${title}: there is no metric ${name}`)) known.add(label);
      }
      for (const [, selector = ''] of expr.matchAll(/\{([^}]*)\}/g))
        for (const [, label = ''] of selector.matchAll(/(\w+)(?:=~|!~|!=|=)"/g))
          assert.ok(known.has(label), `${title}: ${label}`);
      const grouped = Array.from(expr.matchAll(/\bby \(([^)]*)\)/g), ([, list = '']) => list.split(/, */)).flat();
      for (const label of grouped) assert.ok(known.has(label), `${title}: by (${label})`);
      // An aggregation keeps only the labels that it groups by.
      const kept = /\b(?:sum|max|min|count)\b/.test(expr) ? grouped : [...known];
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        assert.ok(kept.includes(label), `${title}: {{${label}}}`);
    }
  });

  test('a counter is shown as a rate, and variables exist', () => {
    const variables = dashboard.templating.list.map(({ name }) => name);
    for (const { title, expr } of targets) {
      for (const [, name = ''] of expr.matchAll(/(?<!(?:rate|increase)\()\b(postern_\w+(?:_total|_bucket))\{/g))
        assert.fail(`${title}: ${name} only grows`);
      for (const [, name = ''] of expr.matchAll(/\$(\w+)/g))
        assert.ok(name === '__rate_interval' || variables.includes(name), `${title}: $${name}`);
    }
    for (const { query } of dashboard.templating.list) {
      const [, metric, label] =
        /^label_values\((\w+), (\w+)\)$/.exec(typeof query === 'string' ? '' : query.query) ?? [];
      if (metric === undefined) continue;
      assert.ok([...(labelsOf.get(metric) ?? assert.fail(metric)), ...ADDED_LABELS].includes(label ?? ''));
    }
  });

  test('panels have ids of their own and do not overlap', () => {
    const taken = new Set<string>();
    assert.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length);
    for (const { title, gridPos } of dashboard.panels) {
      assert.ok(gridPos.x + gridPos.w <= 24, title);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          assert.ok(!taken.has(`${x} ${y}`), title);
          taken.add(`${x} ${y}`);
        }
    }
  });
});
