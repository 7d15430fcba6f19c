import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { helpIfRequested } from '../support/usage.ts';
import { firstLoad } from './first-load.ts';
import { liveView } from './live-view.ts';

helpIfRequested({
  script: 'bench:console',
  about:
    "Measures the console: bytes of the first load, and the edge's CPU per request at 1,000 requests per second with and without a live view.",
});
const directory = await mkdtemp(join(tmpdir(), 'postern-bench-console-'));
try {
  firstLoad();
  await liveView(directory);
} finally {
  await rm(directory, { recursive: true, force: true });
}
