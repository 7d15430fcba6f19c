import { API_KEY } from './start-program.ts';

const headers = { authorization: `Bearer ${API_KEY}`, 'service-version': '2', 'content-type': 'application/json' };

/** One operation of a server's management API; throws unless it returns 2xx. */
export async function call(
  port: number,
  method: string,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}
