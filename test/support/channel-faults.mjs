// Loaded into a server process with --import. While the file CHANNEL_FAULTS.hold exists, it does not answer the
// channels that other nodes open, but all else; CHANNEL_FAULTS.held says that one waits. It resets its open channels
// when CHANNEL_FAULTS.break appears, and removes the file.

import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:http2';
import { isMainThread } from 'node:worker_threads';

const INTERNAL_ERROR = 2;
const file = process.env.CHANNEL_FAULTS;
const open = new Set();
const held = new Set();

const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const session = connect(`http://127.0.0.1:${server.address().port}`);
const arrived = once(server, 'stream');
session.request().resume();
const [stream] = await arrived;
const streams = Object.getPrototypeOf(stream);
const { respond } = streams;
stream.close();
session.destroy();
server.close();

streams.respond = function (headers, ...rest) {
  // Only a channel is accepted with nothing else.
  const isChannel = Array.isArray(headers) && headers.length === 2 && headers[1] === '200' && rest.length === 0;
  // Links to workers are not encrypted.
  if (!isChannel || !this.session.encrypted) return respond.call(this, headers, ...rest);
  open.add(this);
  this.once('close', () => open.delete(this));
  if (!existsSync(`${file}.hold`)) return respond.call(this, headers);
  held.add(this);
  writeFileSync(`${file}.held`, '');
};

// Workers load it too, and have no channels of other nodes.
const look = () => {
  if (existsSync(`${file}.break`)) {
    rmSync(`${file}.break`);
    for (const each of open) if (!held.has(each)) each.close(INTERNAL_ERROR);
  }
  if (existsSync(`${file}.hold`)) return;
  for (const each of held) if (!each.destroyed && !each.closed) respond.call(each, [':status', '200']);
  held.clear();
};

if (isMainThread) setInterval(look, 5).unref();
