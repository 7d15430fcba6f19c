import type { Still } from './pages.ts';

const PAGE_MS = 4_000;
const BAR = { height: 34, caption: 30 };

/**
 * The terminal's animation, as termtosvg wrote it, followed by the pages of the browser in the same window. A page is
 * a group that CSS shows for a part of the whole time.
 */
export function animate(terminal: string, pages: Readonly<Record<string, Still>>): string {
  const stills = Object.values(pages);
  const terminalMs = Number(/--animation-duration: (\d+)ms/.exec(terminal)?.[1]);
  const [, width = '', height = ''] = /viewBox="0 0 (\d+) (\d+)"/.exec(terminal) ?? [];
  if (!(terminalMs > 0) || height === '') throw new Error('termtosvg writes another format than the one known here');
  const wholeMs = terminalMs + stills.length * PAGE_MS;
  const percent = (ms: number): string => `${((ms / wholeMs) * 100).toFixed(3)}%`;

  const scaled = terminal
    .replaceAll(`${terminalMs}ms`, `${wholeMs}ms`)
    .replaceAll(/^(\d+\.\d+)%\{/gm, (_, at: string) => `${percent((Number(at) / 100) * terminalMs)}{`)
    // The last frame of the terminal stays below the pages.
    .replace(/\{(transform:[^}]+)\}\n( *\}\n\n *#screen_view)/, '{$1}\n100%{$1}\n$2');
  const rules = stills.map((_, number) => {
    const fromMs = terminalMs + number * PAGE_MS;
    const end = number + 1 === stills.length ? '' : `${percent(fromMs + PAGE_MS)}{opacity:0}`;
    return `@keyframes page${number}{0%{opacity:0}${percent(fromMs)}{opacity:1}${end}}
#page${number}{opacity:0;animation:page${number} ${wholeMs}ms steps(1,end) infinite}`;
  });
  const groups = stills.map((page, number) => group(page, number, { width: Number(width), height: Number(height) }));
  const style = `<style>${rules.join('\n')}</style>`;
  return scaled.replace(/<\/svg>\s*$/, () => `${style}${groups.join('')}</svg>\n`);
}

function group(
  { title, url, png }: Still,
  number: number,
  { width, height }: { width: number; height: number },
): string {
  const top = BAR.caption + BAR.height;
  const text = `font-family="DejaVu Sans, sans-serif" fill="#1f2430" style="dominant-baseline:auto"`;
  return `<g id="page${number}"><rect width="${width}" height="${height}" rx="4.6" fill="#eceef2"/>
<text x="20" y="23" font-size="15" font-weight="bold" ${text}>${title}</text>
<rect x="16" y="${BAR.caption + 3}" width="${width - 32}" height="24" rx="12" fill="#fff"/>
<text x="32" y="${BAR.caption + 20}" font-size="13" ${text}>${url}</text>
<image y="${top}" width="${width}" height="${height - top - 4}" preserveAspectRatio="xMidYMin slice" xlink:href="data:image/png;base64,${png.toString('base64')}"/></g>`;
}
