import { setTimeout as sleep } from 'node:timers/promises';

/** A program that was started with `NODE_OPTIONS=--inspect-port=127.0.0.1:PORT`. */
export interface InspectedProgram {
  readonly pid: number;
  readonly inspectPort: number;
}

/** MiB that V8 uses in its heap. Opens the inspector, which takes memory: the last thing to ask a program. */
export async function heapMiB({ pid, inspectPort }: InspectedProgram): Promise<number> {
  process.kill(pid, 'SIGUSR1');
  const socket = new WebSocket(await debuggerUrl(inspectPort));
  const answer = Promise.withResolvers<string>();
  socket.onerror = () => answer.reject(new Error('the inspector did not answer'));
  socket.onmessage = ({ data }) => answer.resolve(String(data));
  socket.onopen = () => {
    const params = { expression: 'process.memoryUsage().heapUsed', returnByValue: true };
    socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params }));
  };
  const { result } = JSON.parse(await answer.promise) as { result: { result: { value: number } } };
  socket.close();
  return result.result.value / 1024 ** 2;
}

async function debuggerUrl(port: number): Promise<string> {
  for (let tries = 0; ; tries += 1) {
    try {
      const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
        webSocketDebuggerUrl: string;
      }[];
      if (target !== undefined) return target.webSocketDebuggerUrl;
    } catch (error) {
      if (tries > 100) throw error;
    }
    await sleep(50);
  }
}
