import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { helpIfRequested } from '../support/usage.ts';
import { firstLoad } from './first-load.ts';
import { liveView } from './live-view.ts';
import { manyEdges } from './many-edges.ts';

helpIfRequested({
  script: 'bench:console',
  about:
    "Measures the console: bytes of the first load, the list of 10,000 edges, and the edge's CPU per request at 1,000 requests per second with and without a live view.",
});
const directory = await mkdtemp(join(tmpdir(), 'postern-bench-console-'));
try {
  firstLoad();
  await manyEdges(directory);
  await liveView(directory);
} finally {
  await rm(directory, { recursive: true, force: true });
}
