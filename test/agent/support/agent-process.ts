import { startAgent } from '../../../src/tunnel/agent/index.ts';
import { QUICK } from './agent-world.ts';

/** An agent with one tunnel, in its own process. */
const [serverAddr = '', ca = '', port = ''] = process.argv.slice(2);
const liveness = { checkMs: 50, pingAfterMs: 200, deadAfterMs: 500 };
const agent = startAgent({
  serverAddr,
  ca,
  servername: 'gateway.test',
  authtoken: 'token',
  tunnels: [{ proto: 'https', addr: `127.0.0.1:${port}` }],
  timings: { ...QUICK, liveness },
});
await agent.ready;
process.send?.({ tunnel: agent.tunnels[0]?.id, deadAfterMs: liveness.deadAfterMs });
