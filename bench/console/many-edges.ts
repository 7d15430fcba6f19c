import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { ConsoleVisitor } from '../../test/console/console-visitor.ts';
import { CHROMIUM_FLAGS, chromiumPath } from '../../test/support/chromium.ts';
import { call } from '../support/call.ts';
import { isQuick, say } from '../support/flags.ts';
import { median, quantile } from '../support/process-cost.ts';
import { API_KEY, type Program, startPosternServer } from '../support/start-program.ts';

const FEW = 10;
const MANY = isQuick ? 500 : 10_000;
const OPERATIONS = 2_500;
const ROUNDS = isQuick ? 2 : 15;
const SETTINGS = { POSTERN_ROLES: 'api,edge', POSTERN_LOG_LEVEL: 'warn' };

type Times = Readonly<Record<'list' | 'search' | 'page' | 'scrolled', number[]>>;

/** The list of edges in the API and in a browser, with ten edges and with ten thousand. */
export async function manyEdges(directory: string): Promise<void> {
  const executablePath = chromiumPath();
  if (executablePath === null) say('chromium is not on the PATH: only the API is measured');
  await using stack = new AsyncDisposableStack();
  const browser = executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
  stack.defer(async () => browser?.close());
  const all: Times[] = [];
  for (const edges of [FEW, MANY]) {
    const server = await startPosternServer(join(directory, `edges-${edges}`), SETTINGS);
    stack.defer(() => server.stop());
    await fill(server, edges);
    const visitor = browser === null ? null : await ConsoleVisitor.open(browser, `http://127.0.0.1:${server.port}`);
    await visitor?.logIn(API_KEY);
    const times: Times = { list: [], search: [], page: [], scrolled: [] };
    // The first round warms up.
    for (let round = 0; round <= ROUNDS; round += 1) await measure(server, visitor, round === 0 ? null : times);
    all.push(times);
    say(
      `${edges.toLocaleString('en-US')} edges: ${Object.entries(times)
        .filter(([, values]) => values.length > 0)
        .map(([name, values]) => `${name} ${median(values).toFixed(1)} ms (p90 ${quantile(values, 0.9).toFixed(1)})`)
        .join(', ')}`,
    );
  }
  const [few, many] = all as [Times, Times];
  const ratio = (name: keyof Times): string => (median(many[name]) / median(few[name])).toFixed(2);
  say(`× few: list ${ratio('list')}, search ${ratio('search')}${browser === null ? '' : `, page ${ratio('page')}`}`);
}

async function fill({ port }: Program, edges: number): Promise<void> {
  for (let from = 0; from < edges; from += OPERATIONS) {
    const operations = Array.from({ length: Math.min(OPERATIONS, edges - from) }, (_, at) => ({
      method: 'POST',
      path: '/edges/https',
      body: { hostports: [`e${from + at}.many.localhost:443`], description: `edge ${from + at}` },
    }));
    await call(port, 'POST', '/changesets', { operations });
  }
}

async function measure({ port }: Program, visitor: ConsoleVisitor | null, times: Times | null): Promise<void> {
  const list = await timed(() => call(port, 'GET', '/edges/https?limit=100'));
  const search = await timed(() => call(port, 'GET', '/search?q=e7.many'));
  times?.list.push(list);
  times?.search.push(search);
  if (visitor === null) return;
  await visitor.go('/settings');
  const page = await timed(() => visitor.go('/edges').then(() => firstRow(visitor.page)));
  const scrolled = await timed(() => scrollToEnd(visitor.page));
  times?.page.push(page);
  times?.scrolled.push(scrolled);
}

async function firstRow(page: Page): Promise<void> {
  await page.getByText('.many.localhost').first().waitFor();
}

/** Until the browser has drawn the next frame at the end of what is loaded. */
async function scrollToEnd(page: Page): Promise<void> {
  await page.evaluate(
    'new Promise((done) => { scrollTo(0, document.documentElement.scrollHeight); requestAnimationFrame(() => requestAnimationFrame(() => done(null))); })',
  );
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
