import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { words } from '../support/flags.ts';
import { helpIfRequested } from '../support/usage.ts';
import { firstLoad } from './first-load.ts';
import { liveView } from './live-view.ts';
import { manyEdges } from './many-edges.ts';
import { pages } from './pages.ts';

helpIfRequested({
  script: 'bench:console',
  about: 'Measures the console.',
  benches: {
    load: 'bytes of the first load',
    edges: 'the list of 10,000 edges',
    pages: "the server's CPU for each page with 10,000 sites, 1,000 people, 100 agents and a full history",
    live: "the edge's CPU per request at 1,000 requests per second with and without a live view",
  },
});
const directory = await mkdtemp(join(tmpdir(), 'postern-bench-console-'));
const wanted = (name: string): boolean => words.length === 0 || words.includes(name);
try {
  if (wanted('load')) firstLoad();
  if (wanted('edges')) await manyEdges(directory);
  if (wanted('pages')) await pages(directory);
  if (wanted('live')) await liveView(directory);
} finally {
  await rm(directory, { recursive: true, force: true });
}
