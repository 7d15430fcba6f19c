import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';

/** A real client's first bytes, until it waits for a response. */
export async function captureHello(dial: (port: number) => () => void): Promise<Buffer> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const hangUp = dial((server.address() as AddressInfo).port);
  const [socket] = await once(server, 'connection');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => {});
  // Complete once it has as many bytes as its only record announces.
  while (Buffer.concat(chunks).length < 5 || Buffer.concat(chunks).length < 5 + Buffer.concat(chunks).readUInt16BE(3)) {
    await once(socket, 'data');
  }
  hangUp();
  socket.destroy();
  server.close();
  return Buffer.concat(chunks);
}

export function ofNode(options: ConnectionOptions): Promise<Buffer> {
  return captureHello((port) => {
    const client = connect({ host: '127.0.0.1', port, ...options });
    client.on('error', () => {});
    return () => client.destroy();
  });
}

export function ofProgram(command: string, args: (port: number) => readonly string[]): Promise<Buffer> {
  return captureHello((port) => {
    const child = execFile(command, args(port), () => {});
    return () => child.kill();
  });
}
