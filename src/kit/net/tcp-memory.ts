import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Whether the TCP buffers of this machine take more than Linux wants: the second number of `net.ipv4.tcp_mem`. Above
 * the third one, all connections of the machine stand still for seconds. False where the system does not say, as in a
 * container.
 */
export async function isTcpUnderPressure(folder = '/proc'): Promise<boolean> {
  try {
    const [limits, use] = await Promise.all([
      readFile(join(folder, 'sys/net/ipv4/tcp_mem'), 'utf8'),
      readFile(join(folder, 'net/sockstat'), 'utf8'),
    ]);
    const pressure = Number(limits.trim().split(/\s+/)[1]);
    const pages = Number(/^TCP:.* mem (\d+)/m.exec(use)?.[1]);
    return pages > pressure;
  } catch {
    return false;
  }
}
