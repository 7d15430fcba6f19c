const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function byteText(bytes: number): string {
  let value = bytes;
  let size = 0;
  while (value >= 1024 && size < SIZES.length - 1) {
    value /= 1024;
    size += 1;
  }
  return `${value >= 100 || size === 0 ? Math.round(value) : value.toFixed(1)} ${SIZES[size]}`;
}

export function milliseconds(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 100 ? `${Math.round(ms)} ms` : `${Number(ms.toFixed(1))} ms`;
}

export function rateText(perSecond: number): string {
  if (perSecond >= 100) return Math.round(perSecond).toLocaleString('en');
  return perSecond === 0 ? '0' : perSecond.toFixed(perSecond >= 10 ? 1 : 2);
}

/** `1 error`, `2,000 errors`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
