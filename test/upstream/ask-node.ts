import { request } from 'node:http';
import { Duplex } from 'node:stream';

export type NodesVerdict =
  | { readonly isAccepted: true; readonly status: number; readonly body: string }
  | { readonly isAccepted: false; readonly why: string };

/** How Node's own HTTP client (llhttp) interprets a response followed by the end of the connection. */
export function askNode(answer: Buffer, method: string): Promise<NodesVerdict> {
  const connection = new Duplex({
    read: () => {},
    write: (_chunk, _encoding, done) => {
      done();
      if (isAnswered) return;
      isAnswered = true;
      connection.push(answer);
      connection.push(null);
    },
  });
  let isAnswered = false;
  let hasResponse = false;
  return new Promise((resolve) => {
    const refuse = (why: string) => resolve({ isAccepted: false, why });
    const outgoing = request({ method, host: 'upstream.test', createConnection: () => connection });
    outgoing.on('error', (error) => refuse(error.message));
    outgoing.on('upgrade', () => refuse('upgrade'));
    // The request closes before its response has been read.
    outgoing.on('close', () => hasResponse || refuse('closed'));
    outgoing.on('response', (response) => {
      hasResponse = true;
      let body = '';
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString('latin1');
      });
      response.on('error', (error) => refuse(error.message));
      response.on('close', () => refuse('response closed'));
      response.on('end', () => {
        if (response.complete) resolve({ isAccepted: true, status: response.statusCode ?? 0, body });
        else refuse('incomplete');
      });
    });
    outgoing.end();
  });
}
