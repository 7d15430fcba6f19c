import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { settingsCost } from './settings-cost.ts';

/** CPU per request with OpenTelemetry traces, one in a hundred recorded, compared with none. */
export async function traces(directory: string): Promise<void> {
  const collector = createServer((request, response) => {
    request.resume().once('end', () => response.end('{}'));
  });
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = collector.address() as AddressInfo;
    await settingsCost(directory, {
      what: 'traces',
      off: {},
      on: { POSTERN_OTEL_ENDPOINT: `http://127.0.0.1:${port}`, POSTERN_OTEL_SAMPLE_RATIO: '0.01' },
      goal: 1.03,
    });
  } finally {
    collector.closeAllConnections();
    collector.close();
  }
}
