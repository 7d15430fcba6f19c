import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { suite, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { ApiConnection } from '../../support/api-connection.ts';
import { newHost, trustIn } from '../../support/edge-world.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { TEST_API_KEY } from '../../support/test-world.ts';
import { rawExchange } from './raw-exchange.ts';
import { recordingUpstream } from './recording-upstream.ts';

suite('SIGTERM', () => {
  test('requests in progress finish, clients are asked to leave, a slow reader gets everything', async (t) => {
    const upstream = await recordingUpstream({ after: (task) => t.after(task) });
    const dataDir = await tempDir({ after: (task) => t.after(task) });
    const postern = startServerProcess({ after: (task) => t.after(task) }, dataDir, {
      env: {
        POSTERN_ROLES: 'api,edge',
        POSTERN_EDGE_LISTEN: '127.0.0.1:0',
        POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
        POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
        POSTERN_API_KEY: TEST_API_KEY,
        POSTERN_SHUTDOWN_TIMEOUT: '8',
      },
    });
    const ready = await postern.ready();
    const { api: apiAddress, edge: edgeAddress } = ready.addresses as { api: string; edge: string };
    const api = new ApiConnection(apiAddress, TEST_API_KEY);
    const host = newHost();
    const make = async (method: string, path: string, body: object) => {
      const answer = await api.send(method, path, body);
      assert.ok(answer.status < 300, JSON.stringify(answer.body));
      return answer.body.id as string;
    };
    const edgeId = await make('POST', '/edges/https', { hostports: [`${host}:443`] });
    const routes = `/edges/https/${edgeId}/routes`;
    const routeId = await make('POST', routes, { match: '/', match_type: 'path_prefix' });
    const backendId = await make('POST', '/backends/static', { address: upstream.address });
    await make('PUT', `${routes}/${routeId}/backend`, { backend_id: backendId });
    api.close();

    const tls = {
      host: '127.0.0.1',
      port: Number(edgeAddress.slice(edgeAddress.lastIndexOf(':') + 1)),
      servername: host,
      ca: [...trustIn(dataDir)],
    };
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun = 0;
    upstream.answer = (request, response) => {
      begun += 1;
      if (request.url === '/large') response.end(Buffer.alloc(20_000_000, 'x'));
      else void released.then(() => response.end('whole'));
    };

    const overHttp1 = connectTls({ ...tls, ALPNProtocols: ['http/1.1'] });
    const slow = connectTls({ ...tls, ALPNProtocols: ['http/1.1'] });
    const session = connectHttp2(`https://${host}`, {
      createConnection: () => connectTls({ ...tls, ALPNProtocols: ['h2'] }),
    });
    await Promise.all([once(overHttp1, 'secureConnect'), once(slow, 'secureConnect'), once(session, 'connect')]);
    const answer = rawExchange(overHttp1, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`, { timeoutMs: 60_000 });
    slow.pause();
    slow.write(`GET /large HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const stream = session.request({ ':path': '/' });
    const goaway = once(session, 'goaway');
    const status = once(stream, 'response').then(([headers]) => (headers as IncomingHttpHeaders)[':status']);
    let text = '';
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    const ended = once(stream, 'end');
    while (begun < 3) await new Promise((resolve) => setTimeout(resolve, 5));

    postern.child.kill('SIGTERM');
    await goaway;
    release();
    const got = await answer;
    assert.deepEqual([got.statuses, got.isClosed], [[200], true]);
    assert.match(got.bytes, /connection: close/i);
    assert.ok(got.bytes.endsWith('whole') || got.bytes.includes('whole'));
    assert.equal(await status, 200);
    await ended;
    assert.equal(text, 'whole');
    await new Promise((resolve) => setTimeout(resolve, 300));
    let bytes = 0;
    slow.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    slow.resume();
    await once(slow, 'close');
    assert.ok(bytes > 20_000_000, `${bytes} bytes of 20 million came`);
    assert.equal((await postern.exited).code, 0);
    session.destroy();
  });
});
