/** Text that runs or breaks a page which takes it for markup, for an address, or for left-to-right. */
export const HOSTILE = [
  '<img src=x onerror="window.hacked=1">',
  '"><script>window.hacked=1</script>',
  'javascript:window.hacked=1',
  '{{constructor.constructor("window.hacked=1")()}}',
  '\u202egnp.exe \u2066\u202dabc',
] as const;

type Api = (method: string, path: string, body?: unknown) => Promise<{ readonly id: string }>;

/** Plants it wherever the API takes free text. */
export async function plantHostileText(api: Api): Promise<void> {
  const long = 'w'.repeat(10_240);
  for (const [index, text] of HOSTILE.entries()) {
    const names = { description: text, metadata: text.repeat(20) };
    const edge = await api('POST', '/edges/https', { ...names, hostports: [`hostile-${index}.localhost:443`] });
    const backend = await api('POST', '/backends/http_response', {
      ...names,
      body: text + long,
      headers: { 'x-text': text.replaceAll(/[^\x20-\x7e]/g, '') },
    });
    await api('POST', `/edges/https/${edge.id}/routes`, {
      ...names,
      match_type: 'path_prefix',
      match: `/%3Cimg%20src=x%20onerror=alert(${index})%3E`,
      backend: { backend_id: backend.id },
      access: { enforce: false, allow: [{ claims: { [text]: [text] } }] },
    });
    await api('POST', '/ip_policies', names);
    await api('POST', '/api_keys', { ...names, scopes: ['edges:read'] });
    await api('POST', '/event_destinations', { ...names, target: { file: { name: `hostile-${index}.ndjson` } } });
    await api('POST', '/service_accounts', { ...names, name: `hostile ${index}` }).catch(() => null);
  }
  await api('POST', '/ip_policies', { description: 'w'.repeat(255), metadata: 'w'.repeat(4_000) });
}
