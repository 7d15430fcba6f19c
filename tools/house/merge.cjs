// biome-ignore-all lint: a tool for one job, see README.md
/* oxlint-disable */
// Merges modules of a checkout by AST. Run from the checkout's root.
// stats [DIR] | circles | plan FOLDER… --max=N --min=R --out=F | apply PLAN.json | move FROM TO
const ts = require(process.env.TYPESCRIPT ?? 'typescript');
const fs = require('node:fs');
const path = require('node:path');
const { execFileSync } = require('node:child_process');
const ROOT = process.cwd();
const rel = (p) => path.relative(ROOT, p).split(path.sep).join('/');
const abs = (p) => path.join(ROOT, p);
const read = (p) => fs.readFileSync(abs(p), 'utf8');
const exists = (p) => fs.existsSync(abs(p));
const tracked = () =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { maxBuffer: 1 << 28 })
    .toString()
    .trim()
    .split('\n')
    .filter((f) => exists(f));
const isCode = (f) => /\.(ts|tsx|mts)$/.test(f) && !/\/generated\//.test(f) && !f.endsWith('.d.ts');
const isProduct = (f) => f.startsWith('src/') && isCode(f) && !/\.test\.tsx?$/.test(f);
const parse = (f, text) =>
  ts.createSourceFile(
    f,
    text ?? read(f),
    ts.ScriptTarget.Latest,
    true,
    f.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  );
function resolve(from, spec) {
  if (!spec.startsWith('.')) return null;
  const base = path.posix.normalize(path.posix.join(path.posix.dirname(from), spec));
  return base;
}
function specOf(from, to) {
  let s = path.posix.relative(path.posix.dirname(from), to);
  if (!s.startsWith('.')) s = `./${s}`;
  return s;
}
/** All references to modules in a file: {kind, node(literal), target, typeOnly, names} */
function references(file, sf) {
  const out = [];
  const visit = (n) => {
    if ((ts.isImportDeclaration(n) || ts.isExportDeclaration(n)) && n.moduleSpecifier) {
      const t = resolve(file, n.moduleSpecifier.text);
      const clause = n.importClause;
      const typeOnly = ts.isImportDeclaration(n)
        ? !!clause &&
          (clause.isTypeOnly ||
            (!clause.name &&
              clause.namedBindings &&
              ts.isNamedImports(clause.namedBindings) &&
              clause.namedBindings.elements.length > 0 &&
              clause.namedBindings.elements.every((e) => e.isTypeOnly)))
        : n.isTypeOnly;
      out.push({
        kind: ts.isImportDeclaration(n) ? 'import' : 'export',
        node: n.moduleSpecifier,
        decl: n,
        target: t,
        typeOnly,
      });
    } else if (
      ts.isCallExpression(n) &&
      n.expression.kind === ts.SyntaxKind.ImportKeyword &&
      n.arguments[0] &&
      ts.isStringLiteralLike(n.arguments[0])
    ) {
      out.push({ kind: 'dynamic', node: n.arguments[0], target: resolve(file, n.arguments[0].text) });
    } else if (ts.isImportTypeNode(n) && ts.isLiteralTypeNode(n.argument) && ts.isStringLiteral(n.argument.literal)) {
      out.push({
        kind: 'importtype',
        node: n.argument.literal,
        target: resolve(file, n.argument.literal.text),
        typeOnly: true,
      });
    } else if (
      ts.isNewExpression(n) &&
      n.expression.getText() === 'URL' &&
      n.arguments?.[0] &&
      ts.isStringLiteralLike(n.arguments[0]) &&
      /^\.\.?\//.test(n.arguments[0].text)
    ) {
      out.push({ kind: 'url', node: n.arguments[0], target: resolve(file, n.arguments[0].text) });
    } else if (
      ts.isCallExpression(n) &&
      /(^|\.)(mock\.module|resolve)$/.test(n.expression.getText()) &&
      n.arguments[0] &&
      ts.isStringLiteralLike(n.arguments[0]) &&
      /^\.\.?\/.*\.ts$/.test(n.arguments[0].text)
    ) {
      out.push({ kind: 'url', node: n.arguments[0], target: resolve(file, n.arguments[0].text) });
    }
    ts.forEachChild(n, visit);
  };
  visit(sf);
  return out;
}
function load(filter = isCode) {
  const files = new Map();
  for (const f of tracked().filter(filter)) {
    const text = read(f);
    const sf = parse(f, text);
    files.set(f, { text, sf, refs: references(f, sf), lines: text.split('\n').length - 1 });
  }
  return files;
}
function graph(files) {
  const g = new Map();
  for (const [f, { refs }] of files)
    g.set(
      f,
      new Set(
        refs
          .filter(
            (r) =>
              ['import', 'export', 'importtype'].includes(r.kind) && r.target && files.has(r.target) && r.target !== f,
          )
          .map((r) => r.target),
      ),
    );
  return g;
}
function sccs(g) {
  let i = 0;
  const idx = new Map(),
    low = new Map(),
    st = [],
    on = new Set(),
    out = [];
  const go = (v) => {
    const work = [[v, [...(g.get(v) ?? [])], 0]];
    idx.set(v, i);
    low.set(v, i);
    i++;
    st.push(v);
    on.add(v);
    while (work.length) {
      const top = work[work.length - 1];
      if (top[2] < top[1].length) {
        const w = top[1][top[2]++];
        if (!idx.has(w)) {
          idx.set(w, i);
          low.set(w, i);
          i++;
          st.push(w);
          on.add(w);
          work.push([w, [...(g.get(w) ?? [])], 0]);
        } else if (on.has(w)) low.set(top[0], Math.min(low.get(top[0]), idx.get(w)));
      } else {
        work.pop();
        if (work.length) {
          const p = work[work.length - 1][0];
          low.set(p, Math.min(low.get(p), low.get(top[0])));
        }
        if (low.get(top[0]) === idx.get(top[0])) {
          const c = [];
          let w;
          do {
            w = st.pop();
            on.delete(w);
            c.push(w);
          } while (w !== top[0]);
          if (c.length > 1) out.push(c);
        }
      }
    }
  };
  for (const v of g.keys()) if (!idx.has(v)) go(v);
  return out;
}
const median = (a) => {
  const s = [...a].sort((x, y) => x - y);
  return s[s.length >> 1] ?? 0;
};
function stats(dir = 'src') {
  const files = load((f) => isCode(f) && f.startsWith(`${dir}/`) && !/\.test\.tsx?$/.test(f));
  const lines = [...files.values()].map((f) => f.lines);
  const c = sccs(graph(files));
  console.log(
    `${dir}: files ${files.size}, lines ${lines.reduce((a, b) => a + b, 0)}, median ${median(lines)}, <40: ${lines.filter((l) => l < 40).length}, >350: ${lines.filter((l) => l > 350).length}, >500: ${lines.filter((l) => l > 500).length}, circles ${c.length} (${c.map((x) => x.length).join(' ')})`,
  );
  const imports = [...files.values()].reduce((n, f) => n + f.refs.filter((r) => r.kind === 'import').length, 0);
  console.log(`imports ${imports}`);
  return c;
}
// ---- names
function topDeclarations(sf) {
  const names = new Map(); // name -> statement
  const bind = (n, s) => {
    if (ts.isIdentifier(n)) names.set(n.text, s);
    else n.elements.forEach((e) => e.name && bind(e.name, s));
  };
  for (const s of sf.statements) {
    if (ts.isVariableStatement(s)) s.declarationList.declarations.forEach((d) => bind(d.name, s));
    else if (
      (ts.isFunctionDeclaration(s) ||
        ts.isClassDeclaration(s) ||
        ts.isInterfaceDeclaration(s) ||
        ts.isTypeAliasDeclaration(s) ||
        ts.isEnumDeclaration(s)) &&
      s.name
    )
      names.set(s.name.text, s);
  }
  return names;
}
function importBindings(file, sf) {
  const out = []; // {local, imported, target|module, typeOnly, decl}
  for (const s of sf.statements) {
    if (!ts.isImportDeclaration(s)) continue;
    const mod = s.moduleSpecifier.text;
    const target = resolve(file, mod) ?? mod;
    const c = s.importClause;
    const attr = s.attributes?.getText() ?? '';
    if (!c) {
      out.push({ side: true, target, attr });
      continue;
    }
    if (c.name) out.push({ local: c.name.text, imported: 'default', target, typeOnly: c.isTypeOnly, attr });
    if (c.namedBindings && ts.isNamespaceImport(c.namedBindings))
      out.push({ local: c.namedBindings.name.text, imported: '*', target, typeOnly: c.isTypeOnly, attr });
    if (c.namedBindings && ts.isNamedImports(c.namedBindings))
      for (const e of c.namedBindings.elements)
        out.push({
          local: e.name.text,
          imported: (e.propertyName ?? e.name).text,
          target,
          typeOnly: c.isTypeOnly || e.isTypeOnly,
          attr,
        });
  }
  return out;
}
/** Rename top-level bindings of one file's text; map old -> new. Uses a one-file program for scopes. */
function renameIn(file, text, map) {
  if (map.size === 0) return text;
  const host = {
    getSourceFile: (n) => (n === file ? sf : undefined),
    getDefaultLibFileName: () => 'lib.d.ts',
    writeFile() {},
    getCurrentDirectory: () => '/',
    getCanonicalFileName: (x) => x,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
    fileExists: (n) => n === file,
    readFile: () => undefined,
    getDirectories: () => [],
  };
  const sf = parse(file, text);
  const program = ts.createProgram(
    [file],
    { noResolve: true, noLib: true, allowJs: false, jsx: ts.JsxEmit.Preserve },
    host,
  );
  const checker = program.getTypeChecker();
  const edits = [];
  const top = new Map();
  const note = (nameNode) => {
    const s = checker.getSymbolAtLocation(nameNode);
    if (s) top.set(s, nameNode.text);
  };
  for (const s of sf.statements) {
    if (ts.isVariableStatement(s)) {
      const b = (n) => (ts.isIdentifier(n) ? note(n) : n.elements.forEach((e) => e.name && b(e.name)));
      s.declarationList.declarations.forEach((d) => b(d.name));
    } else if (s.name && ts.isIdentifier(s.name)) note(s.name);
    else if (ts.isImportDeclaration(s) && s.importClause) {
      const c = s.importClause;
      if (c.name) note(c.name);
      if (c.namedBindings) {
        if (ts.isNamespaceImport(c.namedBindings)) note(c.namedBindings.name);
        else c.namedBindings.elements.forEach((e) => note(e.name));
      }
    }
  }
  const visit = (n) => {
    if (ts.isIdentifier(n) && map.has(n.text)) {
      const p = n.parent;
      if (ts.isImportSpecifier(p)) {
        if (p.name === n)
          edits.push([n.getStart(sf), n.end, p.propertyName ? map.get(n.text) : `${n.text} as ${map.get(n.text)}`]);
        return;
      }
      if (ts.isShorthandPropertyAssignment(p) && p.name === n) {
        const s = checker.getShorthandAssignmentValueSymbol(p);
        if (s && top.has(s)) edits.push([n.getStart(sf), n.end, `${n.text}: ${map.get(n.text)}`]);
        return;
      }
      if (ts.isExportSpecifier(p)) {
        edits.push([n.getStart(sf), n.end, map.get(n.text)]);
        return;
      }
      let s = checker.getSymbolAtLocation(n);
      if (s && !top.has(s) && s.exportSymbol) s = s.exportSymbol;
      if (s && (top.has(s) || (checker.getExportSymbolOfSymbol && top.has(checker.getExportSymbolOfSymbol(s))))) {
        if (ts.isBindingElement(p) && p.name === n && !p.propertyName && ts.isObjectBindingPattern(p.parent))
          edits.push([n.getStart(sf), n.end, `${n.text}: ${map.get(n.text)}`]);
        else edits.push([n.getStart(sf), n.end, map.get(n.text)]);
      }
    }
    ts.forEachChild(n, visit);
  };
  visit(sf);
  edits.sort((a, b) => b[0] - a[0]);
  for (const [a, b, t] of edits) text = text.slice(0, a) + t + text.slice(b);
  return text;
}
/** Identifiers evaluated while the module loads (outside functions and types). */
function evaluated(sf) {
  const out = new Set();
  const visit = (n) => {
    if (
      ts.isFunctionLike(n) ||
      ts.isTypeNode(n) ||
      ts.isInterfaceDeclaration(n) ||
      ts.isTypeAliasDeclaration(n) ||
      ts.isImportDeclaration(n)
    ) {
      if (!(ts.isTypeNode(n) && ts.isExpressionWithTypeArguments(n))) return;
    }
    if (ts.isPropertyDeclaration(n) && !n.modifiers?.some((m) => m.kind === ts.SyntaxKind.StaticKeyword)) return;
    if (ts.isIdentifier(n)) out.add(n.text);
    ts.forEachChild(n, visit);
  };
  ts.forEachChild(sf, visit);
  return out;
}
/** What evaluated calls reach through own functions, transitively and cautiously: all identifiers of called local functions. */
function evaluatedDeep(sf) {
  const ev = evaluated(sf);
  const decls = topDeclarations(sf);
  const done = new Set();
  const queue = [...ev];
  while (queue.length) {
    const n = queue.pop();
    if (done.has(n)) continue;
    done.add(n);
    const s = decls.get(n);
    if (s && (ts.isFunctionDeclaration(s) || ts.isClassDeclaration(s) || ts.isVariableStatement(s))) {
      const v = (x) => {
        if (ts.isIdentifier(x) && !ev.has(x.text)) {
          ev.add(x.text);
          queue.push(x.text);
        }
        if (!ts.isTypeNode(x)) ts.forEachChild(x, v);
      };
      ts.forEachChild(s, v);
    }
  }
  return ev;
}
const camel = (f) =>
  path.posix
    .basename(f)
    .replace(/\.(test\.)?tsx?$/, '')
    .replace(/[-_](\w)/g, (_, c) => c.toUpperCase());
function selfContained(statement, i) {
  let ok = true;
  const own = new Set([...i.decls.keys(), ...i.imports.map((b) => b.local)]);
  if (ts.isVariableStatement(statement)) own.delete(statement.declarationList.declarations[0].name.text);
  else own.delete(statement.name.text);
  const v = (n) => {
    if (ts.isIdentifier(n) && own.has(n.text)) ok = false;
    ts.forEachChild(n, v);
  };
  v(statement);
  return ok;
}
function mergeText(group, target, files, log) {
  const set = new Set(group.sources);
  // order
  const info = new Map(group.sources.map((f) => [f, { text: read(f), sf: parse(f) }]));
  for (const [f, i] of info) {
    i.decls = topDeclarations(i.sf);
    i.imports = importBindings(f, i.sf);
    i.ev = evaluatedDeep(i.sf);
  }
  const hard = new Map();
  for (const [f, i] of info)
    hard.set(
      f,
      new Set(
        i.imports.filter((b) => !b.side && set.has(b.target) && !b.typeOnly && i.ev.has(b.local)).map((b) => b.target),
      ),
    );
  const order = [];
  const seen = new Set();
  const place = (f, trail = []) => {
    if (seen.has(f)) return;
    if (trail.includes(f)) {
      log(`  ! load-time circle: ${[...trail, f].join(' > ')}`);
      return;
    }
    for (const d of hard.get(f)) place(d, [...trail, f]);
    seen.add(f);
    order.push(f);
  };
  for (const f of group.order ?? group.sources) place(f);
  // names: what a binding means
  const taken = new Map(); // name -> meaning
  const importsOut = new Map(); // key target -> Map(local -> {imported,typeOnly})
  const side = new Set();
  const attrs = new Map();
  const maps = new Map(order.map((f) => [f, new Map()]));
  const finalName = new Map(); // `${file}#${exported}` -> final name
  // exported declarations keep their names first, in the order of sources
  const declare = (f, name, exported) => {
    const meaning = `${f}#${name}`;
    let want = group.rename?.[`${path.posix.basename(f)}#${name}`] ?? name;
    if (taken.has(want) && taken.get(want) !== meaning) {
      let alt = `${want}Of${camel(f)[0].toUpperCase()}${camel(f).slice(1)}`;
      log(`  ~ ${f}: ${exported ? 'EXPORTED ' : ''}${name} -> ${alt} (taken by ${taken.get(want)})`);
      want = alt;
    }
    taken.set(want, meaning);
    finalName.set(meaning, want);
    if (want !== name) maps.get(f).set(name, want);
  };
  const isExported = (s) => s.modifiers?.some((m) => m.kind === ts.SyntaxKind.ExportKeyword);
  for (const f of order) for (const [n, s] of info.get(f).decls) if (isExported(s)) declare(f, n, true);
  // imports before private declarations, so that private ones give way
  for (const f of order)
    for (const b of info.get(f).imports) {
      if (b.side) {
        if (!set.has(b.target)) side.add(b.target);
        continue;
      }
      if (set.has(b.target)) continue;
      const meaning = `${b.target}#${b.imported}`;
      let want = b.local;
      const m = importsOut.get(b.target) ?? new Map();
      importsOut.set(b.target, m);
      if (b.attr) attrs.set(b.target, b.attr);
      const had = [...m].find(([, v]) => v.imported === b.imported);
      if (had) {
        want = had[0];
        if (!b.typeOnly) had[1].typeOnly = false;
      } else {
        if (taken.has(want) && taken.get(want) !== meaning) {
          const alt = `${want}Imported`;
          log(`  ~ ${f}: import ${want} -> ${alt} (taken by ${taken.get(want)})`);
          want = alt;
        }
        taken.set(want, meaning);
        m.set(want, { imported: b.imported, typeOnly: b.typeOnly });
      }
      if (want !== b.local) maps.get(f).set(b.local, want);
    }
  const privates = new Map();
  const drop = new Map(order.map((f) => [f, new Set()]));
  for (const f of order)
    for (const [n, s] of info.get(f).decls)
      if (!isExported(s)) {
        const code = s.getText();
        const had = privates.get(code);
        // The same private declaration twice, made of nothing of its own file: one is enough.
        if (
          had &&
          [...taken].some(([k, v]) => k === n && v === `${had}#${n}`) &&
          (!ts.isVariableStatement(s) || s.declarationList.declarations.length === 1) &&
          selfContained(s, info.get(f))
        ) {
          drop.get(f).add(s.getStart());
          finalName.set(`${f}#${n}`, n);
          log(`  = ${f}: ${n} as in ${had}`);
          continue;
        }
        privates.set(code, f);
        declare(f, n, false);
      }
  // imports among the group
  for (const f of order)
    for (const b of info.get(f).imports) {
      if (b.side || !set.has(b.target)) continue;
      if (b.imported === '*') {
        log(`  ! ${f}: namespace import of a member ${b.target}`);
        continue;
      }
      const want = finalName.get(`${b.target}#${b.imported}`);
      if (!want) {
        log(`  ! ${f}: ${b.imported} of ${b.target} is not declared there`);
        continue;
      }
      if (want !== b.local) maps.get(f).set(b.local, want);
    }
  // a local variable that would hide a new name
  const bodies = [];
  let header = '';
  for (const f of order) {
    const i = info.get(f);
    let source = i.text;
    for (const st of [...i.sf.statements].reverse())
      if (drop.get(f).has(st.getStart())) source = source.slice(0, st.getFullStart()) + source.slice(st.end);
    let text = renameIn(f, source, maps.get(f));
    const sf = parse(f, text);
    const cuts = [];
    for (const s of sf.statements) {
      if (ts.isImportDeclaration(s)) {
        const first = s === sf.statements[0];
        // comments before an import stay with the body, if they belong to the file
        cuts.push([first ? s.getStart(sf) : s.getFullStart(), s.end]);
        if (!first) {
          const c = text.slice(s.getFullStart(), s.getStart(sf)).trim();
          if (c) log(`  ! ${f}: comment before an import: ${c.slice(0, 80)}`);
        }
      } else if (ts.isExportDeclaration(s) && s.moduleSpecifier) {
        const t = resolve(f, s.moduleSpecifier.text);
        if (t && set.has(t)) cuts.push([s.getFullStart(), s.end]);
        else if (t) {
          const a = s.moduleSpecifier;
          cuts.push([a.getStart(sf), a.end, `'${specOf(target, t)}'`]);
        }
      } else if (ts.isExportDeclaration(s)) log(`  ! ${f}: export list`);
    }
    for (const r of references(f, sf))
      if (['dynamic', 'importtype', 'url'].includes(r.kind) && r.target) {
        if (set.has(r.target)) log(`  ! ${f}: ${r.kind} of a member ${r.target}`);
        cuts.push([r.node.getStart(sf), r.node.end, `'${specOf(target, r.target)}'`]);
      }
    cuts.sort((a, b) => b[0] - a[0]);
    for (const [a, b, t = ''] of cuts) text = text.slice(0, a) + t + text.slice(b);
    bodies.push(text.trim());
  }
  const lines = [];
  for (const s of side)
    lines.push(`import '${s.startsWith('src') || (s.includes('/') && exists(s)) ? specOf(target, s) : s}';`);
  for (const [t, m] of importsOut) {
    const spec = exists(t) || (/\.(ts|tsx|json|css|mjs)$/.test(t) && t.includes('/')) ? specOf(target, t) : t;
    const w = attrs.get(t) ? ` ${attrs.get(t)}` : '';
    const named = [];
    for (const [local, v] of m) {
      if (v.imported === '*') lines.push(`import ${v.typeOnly ? 'type ' : ''}* as ${local} from '${spec}'${w};`);
      else if (v.imported === 'default') lines.push(`import ${v.typeOnly ? 'type ' : ''}${local} from '${spec}'${w};`);
      else named.push([v.typeOnly, v.imported === local ? local : `${v.imported} as ${local}`]);
    }
    if (named.length) {
      if (named.every(([t]) => t))
        lines.push(`import type { ${named.map(([, n]) => n).join(', ')} } from '${spec}'${w};`);
      else lines.push(`import { ${named.map(([t, n]) => (t ? `type ${n}` : n)).join(', ')} } from '${spec}'${w};`);
    }
  }
  let head = '';
  if (bodies[0].startsWith('#!')) {
    const k = bodies[0].indexOf('\n');
    head = `${bodies[0].slice(0, k)}\n`;
    bodies[0] = bodies[0].slice(k + 1).trim();
  }
  return { text: `${head}${lines.join('\n')}\n\n${bodies.filter(Boolean).join('\n\n')}\n`, finalName };
}
function apply(plan, { dropExports = true, tests = true } = {}) {
  let files = load();
  const changed = new Set();
  const moved = new Map(); // old path -> new path
  const renamed = new Map(); // `${old}#${name}` -> final
  const groups = [...plan];
  if (tests)
    for (const g of plan) {
      const t = [...new Set(g.sources)].map((s) => s.replace(/\.tsx?$/, '.test.ts')).filter((s) => exists(s));
      const target = g.target.replace(/\.tsx?$/, '.test.ts');
      if (t.length === 0 || (t.length === 1 && t[0] === target)) continue;
      const total = t.reduce((n, f) => n + read(f).split('\n').length, 0);
      if (total <= 600)
        groups.push({
          target,
          sources: [...t].sort((a, b) => (a === target ? -1 : b === target ? 1 : 0)),
          isTest: true,
        });
      else log0(`  tests of ${g.target} stay apart: ${total} lines`);
    }
  function log0(s) {
    console.log(s);
  }
  const results = [];
  for (const g of groups) {
    console.log(`${g.target} <- ${g.sources.map((s) => path.posix.basename(s)).join(' ')}`);
    const r = g.sources.length === 1 ? null : mergeText(g, g.target, files, log0);
    if (r) for (const [k, v] of r.finalName) renamed.set(k, v);
    for (const s of g.sources) moved.set(s, g.target);
    results.push([g, r]);
  }
  const inGroup = new Map();
  for (const g of groups) for (const s of g.sources) inGroup.set(s, g);
  // write merged
  for (const [g, r] of results) {
    const from = g.sources.includes(g.target) ? g.target : g.sources[0];
    if (from !== g.target) {
      fs.mkdirSync(path.dirname(abs(g.target)), { recursive: true });
      execFileSync('git', ['mv', from, g.target]);
      if (!r) {
        let text = read(g.target);
        const sf = parse(g.target, text);
        const e = references(from, sf)
          .filter((x) => x.target)
          .map((x) => [x.node.getStart(sf), x.node.end, `'${specOf(g.target, x.target)}'`])
          .sort((a, b) => b[0] - a[0]);
        for (const [a, b, t] of e) text = text.slice(0, a) + t + text.slice(b);
        fs.writeFileSync(abs(g.target), text);
      }
    }
    if (r) {
      fs.writeFileSync(abs(g.target), r.text);
      for (const s of g.sources) if (s !== g.target && exists(s)) execFileSync('git', ['rm', '-q', '-f', s]);
    }
    changed.add(g.target);
  }
  // importers
  const all = new Set([...files.keys()].map((f) => moved.get(f) ?? f));
  for (const f of all) {
    if (!exists(f)) continue;
    let text = read(f);
    const sf = parse(f, text);
    const refs = references(f, sf).filter((r) => r.target && moved.has(r.target));
    if (refs.length === 0) continue;
    const edits = [];
    for (const r of refs) {
      const to = moved.get(r.target);
      edits.push([r.node.getStart(sf), r.node.end, `'${specOf(f, to)}'`]);
      const names =
        r.kind === 'import' &&
        r.decl.importClause?.namedBindings &&
        ts.isNamedImports(r.decl.importClause.namedBindings)
          ? r.decl.importClause.namedBindings.elements
          : r.kind === 'export' && r.decl.exportClause && ts.isNamedExports(r.decl.exportClause)
            ? r.decl.exportClause.elements
            : [];
      for (const e of names) {
        const n = e.propertyName ?? e.name;
        const fin = renamed.get(`${r.target}#${n.text}`);
        if (fin && fin !== n.text) edits.push([n.getStart(sf), n.end, e.propertyName ? fin : `${fin} as ${n.text}`]);
      }
    }
    edits.sort((a, b) => b[0] - a[0]);
    for (const [a, b, t] of edits) text = text.slice(0, a) + t + text.slice(b);
    fs.writeFileSync(abs(f), text);
    changed.add(f);
    joinImports(f);
  }
  // unused exports
  if (dropExports) {
    files = load();
    const used = new Map();
    for (const [f, { refs, sf }] of files)
      for (const r of refs)
        if (r.target) {
          const u = used.get(r.target) ?? new Set();
          used.set(r.target, u);
          if (r.kind === 'import') {
            const nb = r.decl.importClause?.namedBindings;
            if (nb && ts.isNamedImports(nb)) nb.elements.forEach((e) => u.add((e.propertyName ?? e.name).text));
            else if (nb) u.add('*');
          } else if (r.kind === 'export') {
            if (r.decl.exportClause && ts.isNamedExports(r.decl.exportClause))
              r.decl.exportClause.elements.forEach((e) => u.add((e.propertyName ?? e.name).text));
            else u.add('*');
          } else if (r.kind === 'importtype') {
            const q = r.node.parent?.parent?.qualifier;
            u.add(q ? (ts.isIdentifier(q) ? q.text : q.left.getText()) : '*');
          } else u.add('*');
        }
    const entries = tracked()
      .filter((f) => /\.(mjs|cjs)$/.test(f) || /^(package\.json|tools\/binary\/bundle\.ts|tools\/build.*\.ts)$/.test(f))
      .map(read)
      .join('\n');
    for (const g of groups.filter((g) => !g.isTest && g.sources.length > 1)) {
      if (
        ['src/main/cli.ts', 'src/client/index.ts', 'src/agent/index.ts'].includes(g.target) ||
        [g.target, ...g.sources].some((f) => entries.includes(f.replace(/^src\//, '').replace(/\.ts$/, '')))
      ) {
        console.log(`  exports of ${g.target} stay (an entry)`);
        continue;
      }
      const u = used.get(g.target) ?? new Set();
      if (u.has('*')) {
        console.log(`  exports of ${g.target} stay (imported whole)`);
        continue;
      }
      let text = read(g.target);
      const sf = parse(g.target, text);
      const edits = [];
      for (const [n, s] of topDeclarations(sf)) {
        const k = s.modifiers?.find((m) => m.kind === ts.SyntaxKind.ExportKeyword);
        if (k && ![...topDeclarations(sf)].some(([m, t]) => t === s && u.has(m))) edits.push(k.getStart(sf));
      }
      for (const a of [...new Set(edits)].sort((a, b) => b - a))
        text = `${text.slice(0, a)}${text.slice(a).replace(/^export\s+/, '')}`;
      fs.writeFileSync(abs(g.target), text);
    }
  }
  // texts
  const renames = new Map([...moved].filter(([a, b]) => a !== b));
  const pairs = [...moved].filter(([a, b]) => a !== b).sort((a, b) => b[0].length - a[0].length);
  for (const f of tracked().filter(
    (f) =>
      /\.(md|ts|tsx|mjs|cjs|json|yml|yaml|sh)$/.test(f) &&
      !/package-lock|openapi\.json|\/generated\/|CHANGELOG/.test(f),
  )) {
    let text = read(f);
    const before = text;
    text = text.replace(/(?<![\w/-])[\w@.-]+(?:\/[\w@.-]+)+\.tsx?(?![\w])/g, (m) => renames.get(m) ?? m);
    if (f.endsWith('.md')) {
      // relative links
      text = text.replace(/\]\(([^)\s#]+\.ts)(#[^)]*)?\)/g, (m, t, h = '') => {
        const p = path.posix.normalize(path.posix.join(path.posix.dirname(f), t));
        return moved.has(p) && moved.get(p) !== p
          ? `](${path.posix.relative(path.posix.dirname(f), moved.get(p))}${h})`
          : m;
      });
    }
    if (text !== before) {
      fs.writeFileSync(abs(f), text);
      if (isCode(f)) changed.add(f);
    }
  }
  const list = [...changed].filter((f) => exists(f));
  for (let i = 0; i < list.length; i += 200) {
    try {
      execFileSync('node_modules/.bin/biome', ['check', '--write', ...list.slice(i, i + 200)], { stdio: 'pipe' });
    } catch (e) {
      console.log(String(e.stdout).slice(0, 3000), String(e.stderr).slice(0, 3000));
    }
  }
  console.log(`${pairs.length} files went into others, ${list.length} files changed`);
  const old = pairs.map(([a, b]) => [path.posix.basename(a), a, b]);
  console.log('texts that still name a file:');
  const gone = new Map(old.filter(([, a]) => !exists(a)).map(([n, a, b]) => [n, b]));
  for (const f of tracked().filter((f) => /\.md$/.test(f)))
    for (const [, n] of read(f).matchAll(/`(?:[^`\n]*\/)?([\w-]+\.tsx?)`/g))
      if (gone.has(n)) console.log(`  ${f}: ${n} -> ${gone.get(n)}`);
}
/** One import statement per module. */
function joinImports(f) {
  let text = read(f);
  const sf = parse(f, text);
  const by = new Map();
  for (const s of sf.statements)
    if (
      ts.isImportDeclaration(s) &&
      s.importClause &&
      !s.importClause.name &&
      s.importClause.namedBindings &&
      ts.isNamedImports(s.importClause.namedBindings) &&
      !s.attributes
    ) {
      const k = s.moduleSpecifier.text;
      by.set(k, [...(by.get(k) ?? []), s]);
    }
  const edits = [];
  for (const [k, list] of by) {
    if (list.length < 2) continue;
    const m = new Map();
    for (const s of list)
      for (const e of s.importClause.namedBindings.elements) {
        const key = e.propertyName ? `${e.propertyName.text} as ${e.name.text}` : e.name.text;
        const t = s.importClause.isTypeOnly || e.isTypeOnly;
        m.set(key, (m.get(key) ?? true) && t);
      }
    const allType = [...m.values()].every(Boolean);
    edits.push([
      list[0].getStart(sf),
      list[0].end,
      `import ${allType ? 'type ' : ''}{ ${[...m].map(([n, t]) => (!allType && t ? `type ${n}` : n)).join(', ')} } from '${k}';`,
    ]);
    for (const s of list.slice(1)) edits.push([s.getFullStart(), s.end, '']);
  }
  if (!edits.length) return;
  edits.sort((a, b) => b[0] - a[0]);
  for (const [a, b, t] of edits) text = text.slice(0, a) + t + text.slice(b);
  fs.writeFileSync(abs(f), text);
}
/** Propose merges inside folders along imports, without new circles. */
function plan(folders, max, min, sub) {
  const files = load(isProduct);
  const g = graph(files);
  const lazy = new Set();
  for (const { refs } of files.values())
    for (const r of refs) if ((r.kind === 'dynamic' || r.kind === 'url') && r.target) lazy.add(r.target);
  const group = new Map();
  const members = new Map();
  const size = new Map();
  for (const [f, i] of files) {
    group.set(f, f);
    members.set(f, [f]);
    size.set(f, i.lines);
  }
  const cg = new Map();
  for (const [f, s] of g) cg.set(f, new Set(s));
  const rev = new Map();
  for (const [f, s] of g)
    for (const t of s) {
      if (!rev.has(t)) rev.set(t, new Set());
      rev.get(t).add(f);
    }
  const base = sccs(cg).length;
  const reach = (a, b, skip) => {
    // path a -> b of length > 1 not direct
    const st = [...(cg.get(a) ?? [])].filter((x) => x !== b);
    const seen = new Set([a]);
    while (st.length) {
      const v = st.pop();
      if (v === b) return true;
      if (seen.has(v)) continue;
      seen.add(v);
      for (const w of cg.get(v) ?? []) st.push(w);
    }
    return false;
  };
  const ok = (f) => folders.some((d) => f.startsWith(d)) && !lazy.has(f);
  for (;;) {
    let best = null;
    for (const [a, outs] of cg) {
      if (!ok(a)) continue;
      for (const b of outs) {
        if (!ok(b) || path.posix.dirname(a) !== path.posix.dirname(b)) continue;
        const total = size.get(a) + size.get(b);
        if (total > max) continue;
        // coupling: how exclusively b serves a
        const users = rev.get(b)?.size ?? 0;
        const score =
          1 / users + (size.get(b) < 40 ? 0.3 : 0) + (size.get(a) < 40 ? 0.2 : 0) + (max - total) / max / 10;
        if (score < min) continue;
        if (best && score <= best.score) continue;
        if (reach(a, b)) continue;
        if (cg.get(b).has(a)) continue;
        best = { a, b, score };
      }
    }
    if (!best) break;
    const { a, b } = best;
    members.set(a, [...members.get(a), ...members.get(b)]);
    members.delete(b);
    size.set(a, size.get(a) + size.get(b));
    size.delete(b);
    for (const t of cg.get(b)) {
      if (t !== a) cg.get(a).add(t);
      rev.get(t)?.delete(b);
      if (t !== a) rev.get(t)?.add(a);
    }
    for (const u of rev.get(b) ?? []) {
      cg.get(u)?.delete(b);
      if (u !== a) {
        cg.get(u).add(a);
        if (!rev.has(a)) rev.set(a, new Set());
        rev.get(a).add(u);
      }
    }
    cg.get(a).delete(b);
    cg.delete(b);
    rev.delete(b);
  }
  const out = [...members]
    .filter(([, m]) => m.length > 1)
    .map(([t, m]) => ({ target: t, sources: m, lines: size.get(t) }));
  const sizes = [...size.values()];
  console.log(
    `after: ${sizes.length} files, median ${median(sizes)}, <40: ${sizes.filter((l) => l < 40).length}, circles ${sccs(cg).length} (before ${base})`,
  );
  return out.sort((a, b) => a.target.localeCompare(b.target));
}
/** Lines: a folder with its slash; or `target < source source … file.ts#old=new`, relative to it, without .ts; comments after ` # `. */
function readPlan(file) {
  const text = fs.readFileSync(file, 'utf8');
  if (file.endsWith('.json')) return JSON.parse(text);
  let folder = '';
  const groups = [];
  for (const line of text
    .split('\n')
    .map((l) => l.split(/(?:^| )# /)[0].trim())
    .filter(Boolean)) {
    if (line.endsWith('/')) {
      folder = line;
      continue;
    }
    const [target, sources = ''] = line.split('<');
    const at = (n) => folder + n + (/\.tsx?$/.test(n) ? '' : '.ts');
    const words = sources.split(/\s+/).filter(Boolean);
    const missing = words.filter((w) => !w.includes('=') && !exists(at(w)));
    if (missing.length) console.log(`! ${at(target.trim())}: missing ${missing.join(' ')}`);
    const found = words.filter((w) => !w.includes('=') && exists(at(w))).map(at);
    if (found.length)
      groups.push({
        target: at(target.trim()),
        sources: found,
        rename: Object.fromEntries(words.filter((w) => w.includes('=')).map((w) => w.split('='))),
      });
  }
  return groups;
}
const [cmd, ...args] = process.argv.slice(2);
const opt = (n, d) => args.find((a) => a.startsWith(`--${n}=`))?.slice(n.length + 3) ?? d;
const rest = args.filter((a) => !a.startsWith('--'));
if (cmd === 'stats') {
  const c = stats(rest[0]);
  if (args.includes('--circles')) c.forEach((x) => console.log(x.join('\n  '), '\n'));
} else if (cmd === 'plan') {
  const p = plan(
    rest.map((r) => (r.endsWith('/') ? r : `${r}/`)),
    Number(opt('max', 350)),
    Number(opt('min', 0.6)),
  );
  fs.writeFileSync(opt('out', '/dev/stdout'), JSON.stringify(p, null, 1));
  for (const g of p)
    console.log(
      `${g.target} ${g.lines} <- ${g.sources
        .slice(1)
        .map((s) => path.posix.basename(s))
        .join(' ')}`,
    );
} else if (cmd === 'apply') apply(rest.flatMap(readPlan), { tests: !args.includes('--no-tests') });
else if (cmd === 'move') apply([{ target: rest[1], sources: [rest[0]] }]);
else if (cmd === 'list') {
  const f = load((x) => isProduct(x) && x.startsWith(rest[0]));
  const g = graph(load(isProduct));
  const users = (t) => [...g].filter(([, s]) => s.has(t)).map(([x]) => x);
  for (const [n, i] of f) {
    const u = users(n);
    const dir = path.posix.dirname(n);
    const names = u.map((x) => (path.posix.dirname(x) === dir ? path.posix.basename(x) : x.replace(/^src\//, '')));
    console.log(
      `${n.slice(rest[0].length)} ${i.lines} <- ${names.length > 5 ? `${names.length}: ${names.slice(0, 3).join(' ')} …` : names.join(' ')}`,
    );
  }
}
