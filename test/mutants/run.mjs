// Runs the mutants that the tests of their own package do not kill with the tests of every package that uses them, and fails if one
// survives that survivors.txt does not explain, or if 5 % of all mutants survive.
//
//	node test/mutants/run.mjs bin/mutants/ownership.json bin/mutants/merge.json
//
// The files are the output of gremlins, which finds the mutants: each changes one operator. A mutant that does not compile counts as
// killed. One that only takes gremlins too long does not: it runs again, with more time.
import { spawn } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"

const limit = 0.05 // of the mutants, which fewer must survive

// The tests in the order in which they run: those that are quick and kill most mutants first. Tests that measure fail on a busy machine.
const suites = [["./merge/...", "./ownership", "./config"], ["./webhook"], ["./plugin/..."]]
const skipped = "Linear|Faster|PeakMemory|ScaleFieldAlone"

// What gremlins makes of an operator.
const operators = {
  ARITHMETIC_BASE: { "+": "-", "-": "+", "*": "/", "/": "*", "%": "*" },
  CONDITIONALS_BOUNDARY: { ">=": ">", ">": ">=", "<=": "<", "<": "<=" },
  CONDITIONALS_NEGATION: { "==": "!=", "!=": "==", ">=": "<", "<": ">=", "<=": ">", ">": "<=" },
  INCREMENT_DECREMENT: { "++": "--", "--": "++" },
  INVERT_NEGATIVES: { "-": "+" },
}

const root = fileURLToPath(new URL("../..", import.meta.url))
const survivorsFile = "test/mutants/survivors.txt"

// mutants returns the mutants in an output of gremlins, whose name is that of the folder.
function mutants(output) {
  const folder = path.basename(output, ".json")
  return JSON.parse(fs.readFileSync(output)).files.flatMap(({ file_name: name, mutations }) => {
    const file = path.posix.join(folder, name)
    const lines = fs.readFileSync(path.join(root, file), "latin1").split("\n") // columns are bytes
    return mutations.map(({ line, column, type, status }) => {
      const [before, after] = [lines[line - 1].slice(0, column - 1), lines[line - 1].slice(column - 1)]
      const operator = Object.keys(operators[type]).filter((o) => after.startsWith(o)).sort((a, b) => b.length - a.length)[0]
      if (!operator) throw new Error(`${file}:${line}:${column}: no operator of ${type}; delete ${output}, which is outdated`)
      const changed = before + operators[type][operator] + after.slice(operator.length)
      const utf8 = Buffer.from(changed, "latin1").toString().trim()
      return { file, line, type, status, changed, lines, name: `${file}:${line}: ${utf8}`, key: `${file} ${type}: ${utf8}` }
    })
  })
}

// explained returns the reasons in survivors.txt by the keys of mutants: the file, the type and the changed line.
function explained() {
  const blocks = fs.readFileSync(path.join(root, survivorsFile), "utf8").split(/\n\s*\n/)
  const entries = blocks.filter((b) => b.trim() && !b.startsWith("#")).map((b) => b.trim().split("\n"))
  return new Map(entries.map(([key, ...reason]) => [key, reason.map((r) => r.trim()).join(" ")]))
}

// killer returns the packages whose tests fail with a mutant, undefined if it survives. folder is for its files.
async function killer(mutant, folder) {
  const [source, overlay] = [path.join(folder, "mutant.go"), path.join(folder, "overlay.json")]
  fs.writeFileSync(source, mutant.lines.with(mutant.line - 1, mutant.changed).join("\n"), "latin1")
  fs.writeFileSync(overlay, JSON.stringify({ Replace: { [path.join(root, mutant.file)]: source } }))
  for (const suite of suites) {
    const args = ["test", "-vet=off", "-failfast", "-timeout=15m", `-skip=${skipped}`, `-overlay=${overlay}`, ...suite]
    // A mutant can fill any memory.
    const test = spawn("sh", ["-c", 'ulimit -v 8000000 && exec go "$@"', "go", ...args], { cwd: root, stdio: "ignore" })
    const status = await new Promise((done, fail) => test.on("close", done).on("error", fail))
    if (status !== 0) return suite.join(" ")
  }
}

const all = process.argv.slice(2).flatMap(mutants)
const open = all.filter((m) => m.status !== "KILLED")
console.log(`mutants: ${all.length}, of which the tests of their own package do not kill ${open.length}`)
const survivors = []
const temporary = fs.mkdtempSync(path.join(os.tmpdir(), "mutants-"))
const failing = open.length > 0 && (await killer({ ...open[0], changed: open[0].lines[open[0].line - 1] }, temporary))
if (failing) throw new Error(`the tests of ${failing} fail without a mutant`)
const queue = open.values()
await Promise.all(Array.from({ length: os.availableParallelism() }, async (_, worker) => {
  const folder = path.join(temporary, `${worker}`)
  fs.mkdirSync(folder)
  for (const mutant of queue) {
    const by = await killer(mutant, folder)
    console.log(`${by ? `killed by ${by}` : "survives"}: ${mutant.name}`)
    if (!by) survivors.push(mutant)
  }
}))
fs.rmSync(temporary, { recursive: true })

const reasons = explained()
const unexplained = survivors.filter((m) => !reasons.has(m.key))
for (const { key } of unexplained) console.log(`\n${survivorsFile} does not explain this one:\n${key}`)
for (const key of reasons.keys()) {
  if (!survivors.some((m) => m.key === key)) console.log(`\n${survivorsFile} explains one that does not survive:\n${key}`)
}
console.log(`\nmutants: ${survivors.length} of ${all.length} survive (${((100 * survivors.length) / all.length).toFixed(1)} %)`)
process.exitCode = unexplained.length > 0 || survivors.length >= limit * all.length ? 1 : 0
