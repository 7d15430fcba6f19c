const TIME = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

/** As HTML. In UTC: the server does not know where the person is. */
export function shownTime(ms: number): string {
  return `<time datetime="${new Date(ms).toISOString()}">${TIME.format(ms)} UTC</time>`;
}
