/** Search, copy buttons and tabs of the documentation. Each page reads well without them. */
const { search: module } = document.querySelector('script[data-search]').dataset
const made = (name, properties = {}, children = []) => {
  const element = Object.assign(document.createElement(name), properties)
  element.append(...children)
  return element
}

const phone = matchMedia('(max-width: 60rem)')
const navigation = document.querySelector('.pages details')
const fold = () => {
  navigation.open = !phone.matches
}
fold()
phone.addEventListener('change', fold)
document.querySelector('.pages [aria-current]')?.scrollIntoView({ block: 'center' })

async function copy(button) {
  const code = button.closest('figure').querySelector('code')
  try {
    await navigator.clipboard.writeText(code.textContent)
    button.textContent = 'Copied'
  } catch {
    // Without HTTPS there is no clipboard on another machine: what is selected can be copied by hand.
    getSelection().selectAllChildren(code)
    button.textContent = 'Selected'
  }
  setTimeout(() => {
    button.textContent = 'Copy'
  }, 2000)
}
for (const button of document.querySelectorAll('.copy')) button.addEventListener('click', () => copy(button))

const language_key = 'language'
function showTab(name) {
  for (const tabs of document.querySelectorAll('.tabs')) {
    const figures = [...tabs.querySelectorAll('figure')]
    const shown = figures.find((figure) => figure.dataset.title === name) ?? figures[0]
    for (const figure of figures) figure.hidden = figure !== shown
    for (const button of tabs.querySelectorAll('.tab')) {
      button.setAttribute('aria-pressed', String(button.textContent === shown.dataset.title))
    }
  }
}
for (const tabs of document.querySelectorAll('.tabs')) {
  const buttons = [...tabs.querySelectorAll('figure')].map((figure) => {
    const title = figure.querySelector('figcaption span').textContent
    figure.dataset.title = title
    const button = made('button', { type: 'button', className: 'tab', textContent: title })
    button.addEventListener('click', () => {
      localStorage.setItem(language_key, title)
      showTab(title)
    })
    return button
  })
  tabs.prepend(made('div', { className: 'choices' }, buttons))
}
showTab(localStorage.getItem(language_key))

const field = document.getElementById('search')
const hits = document.getElementById('hits')
field.parentElement.hidden = false
const hits_max = 12

let opening
function openIndex() {
  opening ??= Promise.all([import(module), fetch('/docs/search.json').then((answer) => answer.json())]).then(
    ([{ default: MiniSearch }, entries]) => {
      const index = new MiniSearch({
        idField: 'url',
        fields: ['title', 'page', 'text'],
        storeFields: ['title', 'page', 'text'],
        tokenize: (text) => text.split(/[\s/.,:;(){}[\]"'`|<>=]+/),
        searchOptions: {
          boost: { title: 6, page: 2 },
          // Why something was decided is for those who read all else.
          boostDocument: (url) => (/\/(decisions|performance)/.test(url) ? 0.3 : /\/errors#/.test(url) ? 2 : 1),
          prefix: true,
          fuzzy: 0.15,
          combineWith: 'AND',
        },
      })
      const seen = new Set()
      index.addAll(entries.filter(({ url }) => !seen.has(url) && seen.add(url)))
      return index
    },
  )
  return opening
}

/** Below `/admin/docs` links stay with the app whose keys are filled in. */
const { query } = document.documentElement.dataset
const addressOf = (url) => (query ? url.replace(/^\/docs([^#]*)/, `/admin/docs$1${query}`) : url)

/** The words around the first match. */
function excerpt(text, terms) {
  const at = Math.max(0, ...terms.map((term) => text.toLowerCase().indexOf(term)))
  return `${at > 40 ? '... ' : ''}${text.slice(Math.max(0, at - 40), at + 100)}`
}

async function search() {
  const words = field.value.trim()
  const found = words === '' ? [] : (await openIndex()).search(words).slice(0, hits_max)
  if (words !== field.value.trim()) return
  const items = found.map(({ id, title, page, text, terms }) =>
    made('li', {}, [
      made('a', { href: addressOf(id) }, [
        made('b', { textContent: title }),
        made('i', { textContent: page }),
        made('span', { textContent: excerpt(text, terms) }),
      ]),
    ]),
  )
  if (words !== '' && items.length === 0) items.push(made('li', { textContent: `Nothing has "${words}".` }))
  hits.replaceChildren(...items)
  hits.hidden = items.length === 0
}
field.addEventListener('focus', openIndex, { once: true })
field.addEventListener('input', search)

/** Moves the focus through the field and its hits. */
function step(by) {
  const stops = [field, ...hits.querySelectorAll('a')]
  stops[Math.min(stops.length - 1, Math.max(0, stops.indexOf(document.activeElement) + by))].focus()
}
addEventListener('keydown', (event) => {
  const inside = field.parentElement.contains(document.activeElement)
  if (event.key === '/' && !inside && !event.ctrlKey && !event.metaKey) field.focus()
  else if (inside && event.key === 'ArrowDown') step(1)
  else if (inside && event.key === 'ArrowUp') step(-1)
  else if (inside && event.key === 'Enter' && document.activeElement === field) hits.querySelector('a')?.click()
  else if (inside && event.key === 'Escape') {
    hits.hidden = true
    document.activeElement.blur()
  } else return
  event.preventDefault()
})
hits.addEventListener('click', () => {
  hits.hidden = true
})
addEventListener('click', ({ target }) => {
  if (!field.parentElement.contains(target)) hits.hidden = true
})
