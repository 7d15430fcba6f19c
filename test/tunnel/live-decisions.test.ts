import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:http';
import { after, test } from 'node:test';
import { recordingUpstream } from '../edge/traffic/recording-upstream.ts';
import { LiveView } from '../support/live-view.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';
import { eventually } from './support/fault-world.ts';

const world = await TunnelWorld.open({ after }, { POSTERN_REQUEST_HISTORY: '0' });

for (const proto of ['https', 'http'] as const) {
  test(`without a history, a live view that opens later shows what modules decided about an ${proto} tunnel`, async () => {
    const local = await recordingUpstream({ after });
    const modules = { ip_restriction: { allow: ['127.0.0.0/8'], deny: [] } };
    const agent = await world.agent([{ proto, addr: local.address, modules }]);
    const { hostname, host } = new URL(agent.publicUrl ?? '');
    const view = await LiveView.open(world.edge.world, 'topics=requests');
    if (proto === 'https') await world.edge.ask(hostname);
    else {
      const port = world.edge.world.server.addresses.edgeHttp?.port;
      const [response] = await once(get({ host: '127.0.0.1', port, headers: { host }, agent: false }), 'response');
      assert.equal(response.resume().statusCode, 200);
    }
    await eventually('the request', () => view.with('requests').length > 0);
    const { decisions } = view.with('requests')[0]?.data ?? {};
    view.close();
    await agent.close();
    assert.deepEqual(
      decisions.map(({ module, decision }: { module: string; decision: string }) => [module, decision]),
      [['ip_restriction', 'pass']],
    );
  });
}
