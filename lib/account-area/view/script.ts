/** All the script there is. Without it every page works; buttons that need it stay hidden. */
export const script = `'use strict'
for (const button of document.querySelectorAll('[data-copy]')) {
  button.hidden = false
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy)
    await navigator.clipboard.writeText(source.value ?? source.textContent.trim())
    const label = button.textContent
    button.textContent = button.dataset.done
    setTimeout(() => { button.textContent = label }, 2000)
  })
}
`
